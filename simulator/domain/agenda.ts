import type { Database } from "better-sqlite3";
import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { Occurrence } from "./emitter.ts";

const stepSchema = z.object({
  type: z.enum(EVENT_TYPES),
  orgId: z.string().optional(),
  object: z.record(z.string(), z.unknown()).optional(),
});

const INSERT = `INSERT INTO agenda (due_at, step) VALUES (?, ?)`;
const NEXT_DUE = `SELECT min(due_at) FROM agenda`;
const TAKE_DUE = `DELETE FROM agenda WHERE seq = (SELECT seq FROM agenda WHERE due_at <= ? ORDER BY due_at, seq LIMIT 1) RETURNING step`;

export type Agenda = ReturnType<typeof createAgenda>;

/** What will happen in the world later, in schedule time: the steps of the stories that are being told. */
export function createAgenda(options: { database: Database; perform: (occurrence: Occurrence) => void }) {
  const { database, perform } = options;
  const insert = database.prepare(INSERT);
  const nextDue = database.prepare<[], number | null>(NEXT_DUE).pluck();
  const takeDue = database.prepare<[number], string>(TAKE_DUE).pluck();

  return {
    add(dueAtMs: number, occurrence: Omit<Occurrence, "faults">): void {
      insert.run(dueAtMs, JSON.stringify(occurrence));
    },
    nextDueMs: (): number | undefined => nextDue.get() ?? undefined,
    /** Lets everything happen that is due by `nowMs`, in order. */
    run(nowMs: number): void {
      for (let step = takeDue.get(nowMs); step !== undefined; step = takeDue.get(nowMs)) {
        const { type, orgId, object } = stepSchema.parse(JSON.parse(step));
        perform({ type, ...(orgId !== undefined && { orgId }), ...(object && { object }) });
      }
    },
  };
}

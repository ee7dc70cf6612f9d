import type { Database } from "better-sqlite3";
import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { Happening } from "./emitter.ts";
import { LANGUAGES } from "./world/phrases/phrases.ts";

const callerSchema = z.object({
  phone: z.string().exactOptional(),
  name: z.string().exactOptional(),
  language: z.enum(LANGUAGES).exactOptional(),
});

const stepSchema = z.object({
  type: z.enum(EVENT_TYPES),
  orgId: z.string().exactOptional(),
  object: z.record(z.string(), z.unknown()).exactOptional(),
  caller: callerSchema.exactOptional(),
});

const INSERT = `INSERT INTO agenda (due_at, step) VALUES (?, ?)`;
const COUNT = `SELECT count(*) FROM agenda`;
const NEXT_DUE = `SELECT min(due_at) FROM agenda`;
const TAKE_DUE = `DELETE FROM agenda WHERE seq = (SELECT seq FROM agenda WHERE due_at <= ? ORDER BY due_at, seq LIMIT 1) RETURNING step`;

export type Agenda = ReturnType<typeof createAgenda>;

/** What will happen in the world later, in schedule time: the steps of the stories that are being told. */
export function createAgenda(options: { database: Database; perform: (happening: Happening) => void }) {
  const { database, perform } = options;
  const insert = database.prepare(INSERT);
  const count = database.prepare<[], number>(COUNT).pluck();
  const nextDue = database.prepare<[], number | null>(NEXT_DUE).pluck();
  const takeDue = database.prepare<[number], string>(TAKE_DUE).pluck();

  // Taken and performed in one transaction: a kill in between loses no step and repeats none.
  const performNext = database.transaction((nowMs: number): void => {
    const step = takeDue.get(nowMs);
    if (step !== undefined) perform(stepSchema.parse(JSON.parse(step)));
  });

  function nextDueMs(): number | undefined {
    return nextDue.get() ?? undefined;
  }

  return {
    add(dueAtMs: number, happening: Omit<Happening, "faults">): void {
      insert.run(dueAtMs, JSON.stringify(happening));
    },
    /** How much lies ahead. */
    count: (): number => count.get() ?? 0,
    nextDueMs,
    /** Lets everything happen that is due by `nowMs`, in order. */
    run(nowMs: number): void {
      while ((nextDueMs() ?? Number.POSITIVE_INFINITY) <= nowMs) performNext(nowMs);
    },
  };
}

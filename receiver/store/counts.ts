import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Counts } from "./port.ts";
import { NOBODY } from "./schema.ts";

/** Jobs that are counted in one turn of the event loop. */
const SLICE = 5_000;

const LIST_HANDLERS = `
  SELECT number, name, announced > 0 AND announced = (SELECT max(announced) FROM handlers) AS isAnnounced FROM handlers ORDER BY name`;
// Each by itself is one look into the index; both in one SELECT read all of it.
const COUNT_EVENTS = `SELECT coalesce((SELECT max(seq) FROM events) - (SELECT min(seq) FROM events) + 1, 0)`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ?`;
const LIST = `
  SELECT due_at_ms AS dueAtMs, event, attempts, cause FROM jobs INDEXED BY jobs_open
  WHERE handler = $number AND state = $state AND state <> 'done' AND (due_at_ms, event) > ($dueAtMs, $event)
  ORDER BY due_at_ms, event LIMIT ${String(SLICE)}`;

type Place = { dueAtMs: number; event: number };
type Job = Place & { attempts: number; cause: string | null };
type State = "waiting" | "running" | "dead" | "ignored";

/** Counts jobs in slices: exact at rest, and within what changes meanwhile. Jobs that are done are not counted. */
export function createCounts(db: Database.Database): () => Promise<Counts> {
  const listHandlers = db.prepare<[], { number: number; name: string; isAnnounced: 0 | 1 }>(LIST_HANDLERS);
  const countEvents = db.prepare<[], number>(COUNT_EVENTS).pluck();
  const findReceivedAt = db.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  const list = db.prepare<[Place & { number: number; state: State }], Job>(LIST);

  return async () => {
    const counts: Counts = { events: countEvents.get() ?? 0, unwanted: 0, handlers: [], causes: [] };
    for (const { number, name, isAnnounced } of listHandlers.all()) {
      const causes = new Map<string, number>();
      let [failing, oldest] = [0, Infinity];
      const [waiting, running, dead, ignored] = [
        await count(number, "waiting", ({ event, attempts }) => {
          oldest = Math.min(oldest, event);
          if (attempts > 0) failing += 1;
        }),
        await count(number, "running", ({ event }) => (oldest = Math.min(oldest, event))),
        await count(number, "dead", ({ cause }) =>
          causes.set(cause ?? "", (causes.get(cause ?? "") ?? 0) + 1),
        ),
        await count(number, "ignored", () => undefined),
      ];
      if (number === NOBODY) counts.unwanted = ignored;
      else if (isAnnounced === 1 || waiting + running + dead + ignored > 0) {
        const oldestUnfinishedAtMs = findReceivedAt.get(oldest === Infinity ? 0 : oldest) ?? null;
        counts.handlers.push({
          handler: name,
          waiting,
          running,
          failing,
          dead,
          ignored,
          oldestUnfinishedAtMs,
        });
      }
      counts.causes.push(...[...causes].map(([cause, of]) => ({ handler: name, cause, dead: of })));
    }
    counts.causes.sort((a, b) => b.dead - a.dead);
    return counts;
  };

  async function count(number: number, state: State, look: (job: Job) => unknown): Promise<number> {
    let counted = 0;
    for (let last: Place | undefined = { dueAtMs: -1, event: 0 }; last;) {
      const slice = list.all({ ...last, number, state });
      slice.forEach(look);
      counted += slice.length;
      last = slice.length === SLICE ? slice.at(-1) : undefined;
      if (last) await nextTurn();
    }
    return counted;
  }
}

import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import { inboxEvent, valuesOf, type EventRow, type JobRow } from "./job-rules.ts";
import type { Counts, EventFilter, EventState, InboxEvent, Ledger, Page } from "./port.ts";
import { bytesOfId, idOfBytes, UNWANTED } from "./schema.ts";

/** Events examined in one turn of the event loop. */
const SCAN = 2_000;

const COLUMNS = `
  seq, id, type, object_id AS objectId, source, received_at_ms AS receivedAtMs, duplicates, handled, body IS NULL AS isPruned`;
const FIND = `SELECT ${COLUMNS} FROM events WHERE id = $id UNION ALL SELECT ${COLUMNS} FROM events WHERE alias = $id`;
const FIND_BODY = `SELECT body FROM events WHERE seq = ?`;
const LIST_JOBS = `
  SELECT name AS handler, state, attempts, handled, due_at_ms AS dueAtMs, deferred, finished_at_ms AS finishedAtMs, errors, cause
  FROM jobs JOIN handlers ON number = handler WHERE event = ? ORDER BY name`;
const MATCHES = `
  ($type IS NULL OR type = $type) AND ($isPruned = 0 OR body IS NULL) AND ($ofJob = 0 OR EXISTS (
    SELECT 1 FROM jobs JOIN handlers ON number = handler WHERE event = seq AND ($state IS NULL OR state = $state)
      AND ($handler IS NULL OR name = $handler) AND ($cause IS NULL OR cause = $cause)))`;

/** Few jobs are in these states, so an index finds the next one. */
const RARE: ReadonlySet<EventState | undefined> = new Set(["running", "dead", "ignored"]);

/** In one direction: finds the nearest event that may match, or that has a job in a rare state, and the matches near it. */
function statementsOf(isUp: boolean) {
  const [beyond, nearest, order] = isUp ? ["> $from", "min", "ASC"] : ["< $from", "max", "DESC"];
  const beside = isUp ? `$next AND $next + ${String(SCAN)}` : `$next - ${String(SCAN)} AND $next`;
  return {
    nearest: `SELECT ${nearest}(seq) FROM events WHERE seq ${beyond}`,
    nearestRare: `
      SELECT ${nearest}((
        SELECT event FROM jobs INDEXED BY jobs_open
        WHERE handler = number AND state = $state AND state <> 'done' AND due_at_ms = 0 AND event ${beyond}
        ORDER BY event ${order} LIMIT 1)) FROM handlers`,
    matching: `SELECT ${COLUMNS} FROM events WHERE seq BETWEEN ${beside} AND ${MATCHES} ORDER BY seq ${order} LIMIT $limit`,
  };
}

type Row = EventRow & { id: Buffer };

/** Events as operators see them. */
export function createViews(db: Database.Database): Pick<Ledger, "find" | "body" | "list"> {
  const findEvent = db.prepare<[{ id: Buffer }], Row>(FIND);
  const findBody = db.prepare<[number], Buffer | null>(FIND_BODY).pluck();
  const listJobs = db.prepare<[number], JobRow>(LIST_JOBS);
  const [down, up] = [prepare(statementsOf(false)), prepare(statementsOf(true))];

  return {
    find: async (id) => {
      const event = findEvent.get({ id: bytesOfId(id) });
      return event && withJobs(event);
    },
    body: async (seq) => findBody.get(seq) ?? undefined,
    list,
  };

  function prepare({ nearest, nearestRare, matching }: ReturnType<typeof statementsOf>) {
    const seq = (sql: string) => db.prepare<[Record<string, unknown>], number | null>(sql).pluck();
    const slices = db.prepare<[Record<string, unknown>], Row>(matching);
    return { nearest: seq(nearest), nearestRare: seq(nearestRare), matching: slices };
  }

  async function list(filter: EventFilter, page: Page): Promise<InboxEvent[]> {
    const isUp = "afterSeq" in page;
    const { nearest, nearestRare, matching } = isUp ? up : down;
    const values = valuesOf(filter);
    const found: InboxEvent[] = [];
    let from = isUp ? page.afterSeq : (page.beforeSeq ?? Number.MAX_SAFE_INTEGER);
    for (;;) {
      const next = (RARE.has(filter.state) ? nearestRare : nearest).get({ from, state: values.state });
      if (typeof next !== "number") return found;
      const limit = page.limit - found.length;
      found.push(...matching.all({ ...values, next, limit }).map(withJobs));
      if (found.length >= page.limit) return found;
      from = isUp ? next + SCAN : next - SCAN;
      await nextTurn();
    }
  }

  function withJobs({ id, ...event }: Row): InboxEvent {
    return inboxEvent(idOfBytes(id), event, listJobs.all(event.seq));
  }
}

/** Jobs counted in one turn of the event loop. */
const SLICE = 5_000;

const LIST_HANDLERS = `
  SELECT number, name, announced > 0 AND announced = (SELECT max(announced) FROM handlers) AS isAnnounced FROM handlers ORDER BY name`;
// Each alone is one index look-up; both in one SELECT would scan the table.
const COUNT_EVENTS = `SELECT coalesce((SELECT max(seq) FROM events) - (SELECT min(seq) FROM events) + 1, 0)`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ?`;
const LIST_OPEN = `
  SELECT due_at_ms AS dueAtMs, event, attempts, cause FROM jobs INDEXED BY jobs_open
  WHERE handler = $number AND state = $state AND state <> 'done' AND (due_at_ms, event) > ($dueAtMs, $event)
  ORDER BY due_at_ms, event LIMIT ${String(SLICE)}`;

type Place = { dueAtMs: number; event: number };
type Open = Place & { attempts: number; cause: string | null };
type State = "waiting" | "running" | "dead" | "ignored";

/** Counts jobs in slices, so changes made meanwhile may be missed. Done jobs are not counted. */
export function createCounts(db: Database.Database): () => Promise<Counts> {
  const listHandlers = db.prepare<[], { number: number; name: string; isAnnounced: 0 | 1 }>(LIST_HANDLERS);
  const countEvents = db.prepare<[], number>(COUNT_EVENTS).pluck();
  const findReceivedAt = db.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  const list = db.prepare<[Place & { number: number; state: State }], Open>(LIST_OPEN);

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
      if (number === UNWANTED) counts.unwanted = ignored;
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

  async function count(number: number, state: State, look: (job: Open) => unknown): Promise<number> {
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

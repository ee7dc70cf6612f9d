import { z } from "zod";
import { causeOfError } from "../store/job-rules.ts";
import { EVENT_STATES } from "../store/ledger-port.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../store/port.ts";

/** The query parameters of a list of events. */
export const filterSchema = z
  .object({ state: z.enum(EVENT_STATES), type: z.string(), handler: z.string(), cause: z.string() })
  .extend({ before_seq: z.coerce.number().int().min(1) })
  .partial();

/** The events or jobs that an operator selects: these ids, or everything that matches and was received since then. */
export type Selection = EventFilter & { ids?: readonly string[] | undefined; sinceMs?: number | undefined };

export type Action = { kind: "requeue" | "discard"; reason?: string | undefined };

/** How many jobs of a handler, with a cause, an action would change. `handler` is undefined for unwanted events. */
export type Choice = { handler: string | undefined; cause: string; jobs: number };

const PAGE_EVENTS = 200;
const MOST_COUNTED = 100_000;
const CHANGES = { requeue: ["dead", "ignored"], discard: ["waiting", "dead"] };

/** Page by page, oldest first, up to the event that is the newest now, so that a million events block nothing. */
export async function* pagesOf(ledger: Ledger, selection: Selection): AsyncGenerator<InboxEvent[]> {
  const { ids = [], sinceMs = 0, ...filter } = selection;
  for (let at = 0; at < ids.length; at += PAGE_EVENTS) {
    const found = await Promise.all(ids.slice(at, at + PAGE_EVENTS).map(ledger.find));
    yield found.filter((event) => event !== undefined);
  }
  const [newest] = selection.ids ? [] : await ledger.list(filter, { limit: 1 });
  const lastSeq = newest?.seq ?? 0;
  for (let afterSeq = 0; afterSeq < lastSeq;) {
    const page = await ledger.list(filter, { limit: PAGE_EVENTS, afterSeq });
    yield page.filter(({ seq, receivedAtMs }) => seq <= lastSeq && receivedAtMs >= sinceMs);
    afterSeq = page.at(-1)?.seq ?? lastSeq;
  }
}

/** Counts the jobs that an action would change, the largest groups first. Stops at 100,000 jobs; `isMore` is true then. */
export async function count(ledger: Ledger, selection: Selection, kind: Action["kind"]) {
  const choices = new Map<string, Choice>();
  let total = 0;
  for await (const jobs of jobsOf(ledger, selection, kind)) {
    for (const { handler, cause } of jobs) {
      const key = JSON.stringify([handler, cause]);
      choices.set(key, { handler, cause, jobs: (choices.get(key)?.jobs ?? 0) + 1 });
    }
    total += jobs.length;
    if (total >= MOST_COUNTED) break;
  }
  const isMore = total >= MOST_COUNTED;
  return { choices: [...choices.values()].toSorted((a, b) => b.jobs - a.jobs), total, isMore };
}

/** Runs the action on exactly the selected jobs, in slices. Yields the number of jobs changed so far. */
export async function* act(ledger: Ledger, selection: Selection, action: Action): AsyncGenerator<number> {
  const { kind, reason = "no reason" } = action;
  const state = selection.state === "done" ? "done" : undefined;
  let changed = 0;
  for await (const page of jobsOf(ledger, selection, kind))
    for (const [handler, jobs] of Map.groupBy(page, (job) => job.handler)) {
      const ids = jobs.map(({ id }) => id);
      if (kind === "requeue") changed += await ledger.requeue(ids, handler, state);
      else changed += await ledger.discard(ids, { handler, reason });
      yield changed;
    }
}

type Chosen = { id: string; handler: string | undefined; cause: string };

async function* jobsOf(ledger: Ledger, selection: Selection, kind: Action["kind"]): AsyncGenerator<Chosen[]> {
  const { state, handler, cause } = selection;
  // Done jobs are requeued only if that state was selected.
  const states = kind === "requeue" && state === "done" ? ["done"] : CHANGES[kind];
  const isMeant = (job: InboxJob): boolean =>
    states.includes(job.state) &&
    (state ?? job.state) === job.state &&
    (handler ?? job.handler) === job.handler &&
    (cause ?? causeOf(job)) === causeOf(job);
  const mayBeUnwanted = kind === "requeue" && (handler ?? cause) === undefined;
  for await (const events of pagesOf(ledger, selection))
    yield events.flatMap(({ id, ...event }): Chosen[] => {
      if (mayBeUnwanted && event.state === "ignored" && event.jobs.length === 0)
        return [{ id, handler: undefined, cause: "" }];
      return event.jobs.filter(isMeant).map((job) => ({ id, handler: job.handler, cause: causeOf(job) }));
    });
}

/** The cause of an ignored job is the operator's reason; a done job has none. */
function causeOf({ state, lastError }: InboxJob): string {
  if (state === "done") return "";
  return state === "ignored" ? (lastError ?? "") : causeOfError(lastError ?? "");
}

import { causeOfError } from "../../shared/causes.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../store/port.ts";

/** Which events or jobs an operator means: of these events, or of all that match and were received since then. */
export type Selection = EventFilter & {
  ids?: readonly string[] | undefined;
  sinceMs?: number | undefined;
};

export type Action = { kind: "requeue" } | { kind: "discard"; reason: string };

/** How many jobs of a handler, with a cause, an action would change. No handler: its event was wanted by none. */
export type Choice = { handler: string | undefined; cause: string; jobs: number };

const PAGE_EVENTS = 500;
const MOST_COUNTED = 100_000;
const CHANGES = { requeue: ["dead", "ignored"], discard: ["waiting", "dead"] } as const;

/** Page by page and oldest first, so that a million of them hold up nothing. */
export async function* pagesOf(ledger: Ledger, selection: Selection): AsyncGenerator<InboxEvent[]> {
  const { ids = [], sinceMs = 0, ...filter } = selection;
  for (let at = 0; at < ids.length; at += PAGE_EVENTS) {
    const found = await Promise.all(ids.slice(at, at + PAGE_EVENTS).map(ledger.find));
    yield found.filter((event) => event !== undefined);
  }
  for (let afterSeq: number | undefined = selection.ids ? undefined : 0; afterSeq !== undefined;) {
    const page: InboxEvent[] = await ledger.list(filter, { limit: PAGE_EVENTS, afterSeq });
    yield page.filter(({ receivedAtMs }) => receivedAtMs >= sinceMs);
    afterSeq = page[PAGE_EVENTS - 1]?.seq;
  }
}

/** Counts what an action would change, the most first. It stops at a hundred thousand jobs: then `isMore` is true. */
export async function count(ledger: Ledger, selection: Selection, kind: Action["kind"]) {
  const choices = new Map<string, Choice>();
  let counted = 0;
  for await (const jobs of jobsOf(ledger, selection, kind)) {
    for (const { handler, cause } of jobs) {
      const key = JSON.stringify([handler, cause]);
      choices.set(key, { handler, cause, jobs: (choices.get(key)?.jobs ?? 0) + 1 });
    }
    counted += jobs.length;
    if (counted >= MOST_COUNTED) break;
  }
  const isMore = counted >= MOST_COUNTED;
  return { choices: [...choices.values()].toSorted((a, b) => b.jobs - a.jobs), isMore };
}

/** Does it for all that is selected, and nothing beside it. Returns, and calls back meanwhile with, the jobs changed so far. */
export async function act(
  ledger: Ledger,
  selection: Selection,
  action: Action,
  onProgress: (jobs: number) => void = () => undefined,
): Promise<number> {
  let changed = 0;
  for await (const page of jobsOf(ledger, selection, action.kind))
    for (const [handler, jobs] of Map.groupBy(page, (job) => job.handler)) {
      const ids = jobs.map(({ id }) => id);
      const changing =
        action.kind === "requeue"
          ? ledger.requeue(ids, handler)
          : ledger.discard(ids, { handler, reason: action.reason });
      changed += await changing;
      onProgress(changed);
    }
  return changed;
}

type Chosen = { id: string; handler: string | undefined; cause: string };

async function* jobsOf(ledger: Ledger, selection: Selection, kind: Action["kind"]): AsyncGenerator<Chosen[]> {
  const { state, handler, cause } = selection;
  const isMeant = (job: InboxJob): boolean =>
    CHANGES[kind].some((one) => one === job.state && (state ?? one) === one) &&
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

/** Of an ignored job the cause is the reason that an operator gave. */
function causeOf({ state, lastError }: InboxJob): string {
  return state === "ignored" ? (lastError ?? "") : causeOfError(lastError ?? "");
}

import { causeOfError } from "../../shared/causes.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../store/port.ts";

/** Which jobs an operator means: of these events, or of all events that match. */
export type Selection = EventFilter & { ids?: readonly string[] | undefined };

export type Action = { kind: "requeue" } | { kind: "discard"; reason: string };

/** How many jobs of a handler, with a cause, an action would change. No handler: its event was wanted by none. */
export type Choice = { handler: string | undefined; cause: string; jobs: number };

const PAGE_EVENTS = 500;
const MOST_COUNTED = 100_000;
const CHANGES = { requeue: ["dead", "ignored"], discard: ["waiting", "dead"] } as const;

/** Page by page and oldest first, so that a million of them hold up nothing. */
export async function* pagesOf(ledger: Ledger, filter: EventFilter): AsyncGenerator<InboxEvent[]> {
  for (let afterSeq = 0; ;) {
    const page = await ledger.list(filter, { limit: PAGE_EVENTS, afterSeq });
    yield page;
    afterSeq = page.at(-1)?.seq ?? 0;
    if (page.length < PAGE_EVENTS) return;
  }
}

/** Counts what an action would change, the most first. It stops at a hundred thousand jobs: then `isMore` is true. */
export async function count(ledger: Ledger, selection: Selection, kind: Action["kind"]) {
  const choices = new Map<string, Choice>();
  let counted = 0;
  for await (const page of jobsOf(ledger, selection, kind)) {
    for (const { handler, cause } of page) {
      const key = JSON.stringify([handler, cause]);
      choices.set(key, { handler, cause, jobs: (choices.get(key)?.jobs ?? 0) + 1 });
    }
    counted += page.length;
    if (counted >= MOST_COUNTED) break;
  }
  return {
    choices: [...choices.values()].toSorted((a, b) => b.jobs - a.jobs),
    isMore: counted >= MOST_COUNTED,
  };
}

/** Does it for all that is selected, and nothing beside it. Calls back with the number of events that each page changed. */
export async function act(
  ledger: Ledger,
  selection: Selection,
  action: Action,
  onChanged: (events: number) => void,
) {
  for await (const page of jobsOf(ledger, selection, action.kind))
    for (const [handler, jobs] of Map.groupBy(page, (job) => job.handler)) {
      const ids = jobs.map(({ id }) => id);
      const { kind } = action;
      onChanged(
        await (kind === "requeue"
          ? ledger.requeue(ids, handler)
          : ledger.discard(ids, { ...action, handler })),
      );
    }
}

type Chosen = { id: string; handler: string | undefined; cause: string };

async function* jobsOf(ledger: Ledger, selection: Selection, kind: Action["kind"]): AsyncGenerator<Chosen[]> {
  const { ids, ...filter } = selection;
  const { state, handler, cause } = filter;
  const named = async (): Promise<InboxEvent[]> =>
    (await Promise.all((ids ?? []).map(ledger.find))).filter((event) => event !== undefined);
  const isMeant = (job: InboxJob): boolean =>
    CHANGES[kind].some((one) => one === job.state && (state ?? one) === one) &&
    (handler ?? job.handler) === job.handler &&
    (cause ?? causeOf(job)) === causeOf(job);
  const isUnwanted = (event: InboxEvent): boolean =>
    event.jobs.length === 0 &&
    event.state === "ignored" &&
    kind === "requeue" &&
    (handler ?? cause) === undefined;
  for await (const events of ids === undefined ? pagesOf(ledger, filter) : [await named()])
    yield events.flatMap((event): Chosen[] => {
      const { id } = event;
      if (isUnwanted(event)) return [{ id, handler: undefined, cause: "" }];
      return event.jobs.filter(isMeant).map((job) => ({ id, handler: job.handler, cause: causeOf(job) }));
    });
}

/** Of an ignored job the cause is the reason that an operator gave. */
function causeOf({ state, lastError }: InboxJob): string {
  return state === "ignored" ? (lastError ?? "") : causeOfError(lastError ?? "");
}

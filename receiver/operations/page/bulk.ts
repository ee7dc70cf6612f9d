import { causeOfError } from "../../../shared/causes.ts";
import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../../store/port.ts";

/** Which jobs an operator means: of these events, or of all that match a filter. */
export type Selection = EventFilter & { id: readonly string[] };

export type Action = { kind: "requeue" } | { kind: "discard"; reason: string };

/** How many jobs of a handler, with a cause, are chosen. */
export type Choice = { handler: string; cause: string; jobs: number };

/** A requeue or discard that runs or has run. */
export type BulkJob = {
  id: number;
  what: string;
  done: number;
  state: "running" | "done" | "cancelled" | "failed";
};

const PAGE_EVENTS = 500;
const MOST_COUNTED_JOBS = 100_000;
const MOST_REMEMBERED = 5;
const ACTS_ON = { requeue: ["dead", "ignored"], discard: ["waiting", "dead"] } as const;
const NO_HANDLER = "(no handler wanted it)";

type Chosen = { event: InboxEvent; handler: string | undefined; cause: string };

/** The jobs that an action would change, a page at a time. */
async function* choose(ledger: Ledger, selection: Selection, kind: Action["kind"]): AsyncGenerator<Chosen[]> {
  const { id: ids, ...filter } = selection;
  const changes = (job: InboxJob): boolean =>
    ACTS_ON[kind].some((state) => state === job.state) &&
    (filter.state === undefined || filter.state === job.state) &&
    (filter.handler === undefined || filter.handler === job.handler) &&
    (filter.cause === undefined || filter.cause === causeOfError(job.lastError ?? ""));
  const chosen = (event: InboxEvent): Chosen[] => {
    const { jobs, state } = event;
    if (
      jobs.length === 0 &&
      state === "ignored" &&
      kind === "requeue" &&
      (filter.handler ?? filter.cause) === undefined
    )
      return [{ event, handler: undefined, cause: "" }];
    return jobs
      .filter(changes)
      .map(({ handler, lastError }) => ({ event, handler, cause: causeOfError(lastError ?? "") }));
  };
  if (ids.length > 0) {
    const events = await Promise.all(ids.map(async (id) => ledger.find(id)));
    yield events.flatMap((event) => (event ? chosen(event) : []));
    return;
  }
  for (let beforeSeq: number | undefined; ;) {
    const events = await ledger.list(filter, { limit: PAGE_EVENTS, beforeSeq });
    yield events.flatMap(chosen);
    beforeSeq = events.at(-1)?.seq;
    if (events.length < PAGE_EVENTS) return;
  }
}

/** How many jobs an action would change, the most first; it stops counting at a hundred thousand. */
export async function count(
  ledger: Ledger,
  selection: Selection,
  kind: Action["kind"],
): Promise<{ choices: Choice[]; isMore: boolean }> {
  const choices = new Map<string, Choice>();
  let counted = 0;
  for await (const page of choose(ledger, selection, kind)) {
    for (const { handler = NO_HANDLER, cause } of page) {
      const choice = choices.get(`${handler}\n${cause}`) ?? { handler, cause, jobs: 0 };
      choices.set(`${handler}\n${cause}`, { ...choice, jobs: choice.jobs + 1 });
    }
    counted += page.length;
    if (counted >= MOST_COUNTED_JOBS) return { choices: sorted(), isMore: true };
  }
  return { choices: sorted(), isMore: false };

  function sorted(): Choice[] {
    return [...choices.values()].toSorted((a, b) => b.jobs - a.jobs);
  }
}

export type Bulk = {
  /** Newest first. */
  jobs: () => readonly BulkJob[];
  /** Begins; `ended` resolves when it is done, cancelled or failed. */
  begin: (selection: Selection, action: Action) => { job: BulkJob; ended: Promise<void> };
  cancel: (id: number) => void;
};

/** Does what operators ask for many events, a page at a time beside everything else. */
export function createBulk(ledger: Ledger, onError: (error: unknown) => void): Bulk {
  let jobs: BulkJob[] = [];
  let lastId = 0;
  return {
    jobs: () => jobs,
    begin: (selection, action) => {
      lastId += 1;
      const job: BulkJob = { id: lastId, what: wordsFor(selection, action), done: 0, state: "running" };
      jobs = [job, ...jobs.slice(0, MOST_REMEMBERED - 1)];
      const ended = run(job, selection, action).catch((error: unknown) => {
        job.state = "failed";
        onError(error);
      });
      return { job, ended };
    },
    cancel: (id) => {
      const job = jobs.find((one) => one.id === id && one.state === "running");
      if (job) job.state = "cancelled";
    },
  };

  async function run(job: BulkJob, selection: Selection, action: Action): Promise<void> {
    for await (const page of choose(ledger, selection, action.kind)) {
      // By handler, so that nothing but the chosen job of an event changes.
      for (const [handler, chosen] of Map.groupBy(page, (one) => one.handler)) {
        const ids = chosen.map(({ event }) => event.id);
        if (action.kind === "requeue") job.done += await ledger.requeue(ids, handler);
        else job.done += await ledger.discard(ids, { handler, reason: action.reason });
      }
      if (job.state === "cancelled") return;
    }
    job.state = "done";
  }
}

function wordsFor({ id, state, handler, type, cause }: Selection, action: Action): string {
  const which =
    id.length > 0 ? `${String(id.length)} chosen` : [state, type].filter(Boolean).join(" ") || "all";
  const whose = [handler && ` of ${handler}`, cause && `: ${cause}`].filter(Boolean).join("");
  return `${action.kind === "requeue" ? "Requeue" : `Discard (${action.reason})`} ${which}${whose}`;
}

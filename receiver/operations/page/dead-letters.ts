import type { EventFilter, InboxEvent, InboxJob, Ledger } from "../../engine.ts";
import { pagesOf } from "../pages.ts";

/** Dead letters that are looked at for the overview: the newest. */
const MOST_LOOKED_AT = 5_000;

/** Which jobs an operator means: those of a filter, and of an error as `errorKind` names it. */
export type Selection = EventFilter & { error?: string | undefined };

/** Dead jobs of one handler that ended for the same reason. */
export type DeadGroup = { handler: string; error: string; jobs: number; newestReceivedAtMs: number };

/** The newest dead jobs by handler and error, most first. */
export async function groupDeadLetters(ledger: Ledger): Promise<{ groups: DeadGroup[]; isWhole: boolean }> {
  const groups = new Map<string, DeadGroup>();
  let lookedAt = 0;
  for await (const events of pagesOf(ledger, { state: "dead" }, "newest first")) {
    for (const { jobs, receivedAtMs } of events) {
      for (const job of jobs.filter(({ state }) => state === "dead")) {
        const error = errorKind(job);
        const key = `${job.handler}\n${error}`;
        const group = groups.get(key) ?? {
          handler: job.handler,
          error,
          jobs: 0,
          newestReceivedAtMs: receivedAtMs,
        };
        groups.set(key, { ...group, jobs: group.jobs + 1 });
      }
    }
    lookedAt += events.length;
    if (lookedAt >= MOST_LOOKED_AT) break;
  }
  const sorted = [...groups.values()].toSorted((a, b) => b.jobs - a.jobs);
  return { groups: sorted, isWhole: lookedAt < MOST_LOOKED_AT };
}

/** Ids of the events that have a dead or ignored job in the selection, a page at a time. */
export async function* selectRequeueable(ledger: Ledger, selection: Selection): AsyncGenerator<string[]> {
  const { error, ...filter } = selection;
  for await (const events of pagesOf(ledger, filter, "newest first"))
    yield events.filter((event) => isMeant(event, selection)).map(({ id }) => id);

  function isMeant({ state, jobs }: InboxEvent, { handler }: Selection): boolean {
    if (jobs.length === 0) return state === "ignored" && handler === undefined && error === undefined;
    return jobs.some(
      (job) =>
        (job.state === "dead" || job.state === "ignored") &&
        (handler === undefined || job.handler === handler) &&
        (error === undefined || errorKind(job) === error),
    );
  }
}

/** What differs between errors of one kind: ids, and numbers other than an HTTP status. */
const DIFFERING = /\b[a-z]{2,8}_[0-9a-f]{16,}\b|(?!\b[1-5]\d\d\b(?! ?m?s\b))\b\d+(?:\.\d+)?/gi;

/** An error without what differs between events, so that what failed alike stands together. */
export function errorKind({ lastError }: Pick<InboxJob, "lastError">): string {
  return (lastError ?? "no error is known").replaceAll(DIFFERING, "…").slice(0, 200);
}

import { act, type Action, type Selection } from "../selection.ts";
import type { PageOptions } from "./index.ts";

/** `total` says how many jobs there were when it was asked; `back` is where they are seen. */
type Asked = Action & { selection: Selection; total: string; operator: string; back: string };
/** `changed` is how far it is, in jobs. No two have the same number. */
type Progress = { number: number; changed: number; startedMs: number; endedMs?: number };
type Past = Asked & Progress & { state: "running" | "done" | "canceled" | "failed" };

const PAST_KEPT = 10;

/** What operators change and have changed: the last ten, the latest first, as long as this process lives. */
export function createActions({ ledger, log, clock }: Pick<PageOptions, "ledger" | "log" | "clock">) {
  const past: Past[] = [];
  /** Resolves when it has ended. It goes on without the browser, and ends early once its state is `canceled`. */
  const run = async (asked: Asked): Promise<void> => {
    const number = (past[0]?.number ?? 0) + 1;
    const now: Past = { ...asked, number, state: "running", changed: 0, startedMs: clock.nowMs() };
    past.splice(0, PAST_KEPT, now, ...past.slice(0, PAST_KEPT - 1));
    try {
      for await (now.changed of act(ledger, asked.selection, asked)) if (now.state !== "running") break;
      if (now.state === "running") now.state = "done";
    } catch (err) {
      now.state = "failed";
      log.error({ err }, "an operator's action failed");
    }
    now.endedMs = clock.nowMs();
    const { operator, kind, reason, selection, changed: jobs, state: ended } = now;
    const chosen = { ...selection, ids: selection.ids?.length };
    log.warn({ operator, kind, reason, ...chosen, jobs, ended }, "an operator's action");
  };
  return { past, run };
}

import { act, type Action, type Selection } from "../selection.ts";
import type { PageOptions } from "./index.ts";

/** `total` is how many jobs there were when it was asked; `back` is where they are seen. */
type Asked = Action & { selection: Selection; total: string; operator: string; back: string };
/** How far it is, in jobs. `startedMs` is no other one's. */
type Progress = { changed: number; startedMs: number; endedMs?: number };
export type Past = Asked & Progress & { state: "running" | "done" | "canceled" | "failed" };

const PAST_KEPT = 10;

export const isRunning = ({ state }: Past): boolean => state === "running";

/** What operators change and have changed: the last ten, the latest first, as long as this process lives. */
export function createActions({ ledger, log, clock }: Pick<PageOptions, "ledger" | "log" | "clock">) {
  const past: Past[] = [];
  /** Resolves when it has ended. It goes on without the browser, and ends early once its state is `canceled`. */
  const run = async (asked: Asked): Promise<void> => {
    const startedMs = Math.max(clock.nowMs(), (past[0]?.startedMs ?? 0) + 1);
    const now: Past = { ...asked, state: "running", changed: 0, startedMs };
    past.splice(0, PAST_KEPT, now, ...past.slice(0, PAST_KEPT - 1));
    const { selection, kind, reason, operator } = asked;
    try {
      for await (now.changed of act(ledger, selection, asked)) if (!isRunning(now)) break;
      if (isRunning(now)) now.state = "done";
    } catch (err) {
      now.state = "failed";
      log.error({ err }, "an operator's action failed");
    }
    now.endedMs = clock.nowMs();
    const chosen = { ...selection, ids: selection.ids?.length };
    log.warn(
      { operator, kind, reason, ...chosen, jobs: now.changed, ended: now.state },
      "an operator's action",
    );
  };
  return { past, run };
}

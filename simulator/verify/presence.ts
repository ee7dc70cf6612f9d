import type { ReceiverProcess } from "../processes/receiver-process.ts";
import type { WireConnection } from "./wire.ts";

/** Checks that the receiver still listens: records after which check it ended, and restarts it if verify started it. */
export function createPresence(options: {
  open: () => Promise<WireConnection>;
  receiver?: ReceiverProcess | undefined;
}) {
  let ends = 0;
  let broughtDownBy: string | undefined;
  let restarting: Promise<string | undefined> | undefined;

  async function listens(): Promise<boolean> {
    const wire = await options.open();
    wire.close();
    return wire.connected;
  }

  async function startAgain(since: string): Promise<string | undefined> {
    const isBack = (await listens()) || (await options.receiver?.restart())?.ok === true;
    if (!isBack) return `The receiver no longer listens since the check ${since}.`;
    broughtDownBy = undefined;
    return undefined;
  }

  return {
    ends: (): number => ends,
    /** Whether it ended before or during this check. */
    async isGoneAfter(checkId: string): Promise<boolean> {
      if (await listens()) return false;
      broughtDownBy = checkId;
      ends += 1;
      return true;
    },
    /** Why no further check can run; undefined if the receiver listens. */
    async missing(): Promise<string | undefined> {
      if (broughtDownBy === undefined) return undefined;
      return (restarting ??= startAgain(broughtDownBy).finally(() => (restarting = undefined)));
    },
  };
}

import { once } from "node:events";
import type { Pool } from "./connection.ts";

export type Listener = {
  /** Connects when there is no connection. Without one, whatever is due is found by looking. */
  keep: () => void;
  stop: () => void;
};

/**
 * Hears of stored events on a connection of its own; `onHeard` is also called for what may have been missed. `onBroken`
 * when the server or the way to it is gone. Where there is no `channel`, nothing is heard.
 */
export function createListener(
  pool: Pool,
  channel: string | null,
  on: { onHeard: () => void; onBroken: () => void },
): Listener {
  let listening: Promise<void> | undefined;
  const stopped = Promise.withResolvers<false>();
  return {
    keep: () => {
      if (channel === null) return;
      listening ??= stay(channel);
    },
    stop: () => stopped.resolve(false),
  };

  async function stay(channel: string): Promise<void> {
    const isBroken = await listen(channel).catch(() => false);
    listening = undefined;
    if (isBroken) on.onBroken();
  }

  async function listen(channel: string): Promise<boolean> {
    const client = await pool.connect();
    try {
      client.on("notification", on.onHeard);
      const broken = once(client, "end").catch(() => true);
      await client.query(`LISTEN "${channel}"`);
      on.onHeard();
      return (await Promise.race([broken, stopped.promise])) !== false;
    } finally {
      client.release(true);
    }
  }
}

import type { Client as PgClient } from "pg";
import type { Packages } from "./packages.ts";

export type Listener = {
  /** Connects when there is no connection. Without one, whatever is due is found by looking. */
  keep: () => void;
  stop: () => void;
};

/**
 * Hears of stored events on a connection of its own; `onHeard` is also called for what may have been missed. `onBroken`
 * when the server or the way to it is gone.
 */
export function createListener(
  { pg }: Packages,
  options: { url: string; channel: string; onHeard: () => void; onBroken: () => void },
): Listener {
  let client: PgClient | undefined;
  let stopped = false;

  return {
    keep: () => {
      if (client === undefined && !stopped) void connect();
    },
    stop: () => {
      stopped = true;
      client?.end().catch(() => undefined);
    },
  };

  async function connect(): Promise<void> {
    const mine = new pg.Client({
      connectionString: options.url,
      keepAlive: true,
      application_name: "voice-agent-receiver listener",
    });
    client = mine;
    let isListening = false;
    const leave = (): void => {
      if (client !== mine) return;
      client = undefined;
      // Where there was no connection, the next round tries again.
      if (isListening && !stopped) options.onBroken();
    };
    mine.on("error", leave);
    mine.on("end", leave);
    mine.on("notification", options.onHeard);
    try {
      await mine.connect();
      await mine.query(`LISTEN "${options.channel}"`);
      isListening = true;
      if (stopped) await mine.end();
      else options.onHeard();
    } catch {
      leave();
      mine.end().catch(() => undefined);
    }
  }
}

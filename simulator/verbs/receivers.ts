import type { listListeners, Listener, Listeners } from "../processes/listeners.ts";
import type { Probe, probeReceiver } from "../processes/receiver-probe.ts";
import { type Refused, refused } from "../domain/refused.ts";

/** What one can do before there is an endpoint: see who listens on this machine, and ask one of them for its path. */
export function createReceiverVerbs(options: { list: typeof listListeners; probe: typeof probeReceiver }) {
  const { list, probe } = options;
  return {
    /** The servers that listen on this machine; none of them is connected to. */
    listening: (): Promise<Listeners> => list(),
    /** Looks for the path at which the listener at `port` takes webhooks. Only one that is listed is asked. */
    async probe(port: number): Promise<{ ok: true; probe: Probe } | Refused> {
      const listed = await list();
      const listeners: Listener[] = listed.ok ? listed.listeners : [];
      const listener = listeners.find((known) => known.port === port);
      if (listener === undefined) return refused(`Nobody listens at port ${port} any more.`, "not_found");
      return { ok: true, probe: await probe(listener) };
    },
  };
}

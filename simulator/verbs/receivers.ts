import type { Listener } from "../processes/listening.ts";
import type { Probe, probeReceiver } from "../processes/receiver-probe.ts";
import { type Refused, refused } from "../domain/refused.ts";

/** What one can do before there is an endpoint: see which usual ports are open, and ask one of them for its path. */
export function createReceiverVerbs(options: {
  list: () => Promise<Listener[]>;
  probe: typeof probeReceiver;
}) {
  const { list, probe } = options;
  return {
    /** The usual ports of this machine that are open; nothing is sent to them. */
    listening: list,
    /** Looks for the path at which `port` takes webhooks. Only a port that is listed is asked. */
    async probe(port: number): Promise<{ ok: true; probe: Probe } | Refused> {
      const listener = (await list()).find((known) => known.port === port);
      if (listener === undefined) return refused(`Nothing listens at port ${port} any more.`, "not_found");
      return { ok: true, probe: await probe(listener) };
    },
  };
}

import { isRefusal } from "../domain/judgement.ts";
import { listListeners, type Listener } from "./listening.ts";
import { FINDINGS, probeReceiver, takesSecret, type Probe } from "./receiver-probe.ts";

/** A finding at a port, and whether it accepted an event signed with the given secret. */
export type FoundReceiver = Probe & { listener: Listener; hasSecret: boolean };

/** Probes the open ports of `ports` for webhook routes, with a signed test event if `secret` is given; the likeliest come first. */
export async function searchReceivers(ports: readonly number[], secret?: string): Promise<FoundReceiver[]> {
  const found: FoundReceiver[] = [];
  for (const listener of await listListeners(ports)) {
    const probe = await probeReceiver(listener);
    const refuses = probe.finding === "refuses_unsigned" || isRefusing(probe);
    const hasSecret = secret !== undefined && refuses && (await takesSecret(probe.url, secret));
    found.push({ ...probe, listener, hasSecret });
    if (hasSecret || (secret === undefined && probe.finding === "refuses_unsigned")) break;
  }
  const certainty = ({ finding, hasSecret }: FoundReceiver) => (hasSecret ? -1 : FINDINGS.indexOf(finding));
  return found.toSorted((left, right) => certainty(left) - certainty(right));
}

/** Whether it refuses an unsigned request at every path, as a receiver without routes does. */
function isRefusing({ finding, status }: Probe): boolean {
  return finding === "everywhere" && status !== null && isRefusal(status);
}

export function takesWebhooks({ finding }: Probe): boolean {
  return finding === "refuses_unsigned" || finding === "takes_unsigned" || finding === "fails";
}

import { isRefusal } from "../domain/judgement.ts";
import { listListeners, type Listener } from "./listeners.ts";
import { FINDINGS, probeReceiver, takesSecret, type Probe } from "./receiver-probe.ts";

/** What was found at a port, whose port it is, and whether it takes what is signed with the secret that was given. */
export type FoundReceiver = Probe & { listener: Listener; hasSecret: boolean };

export type SearchResult = { ok: true; found: FoundReceiver[] } | { ok: false; message: string };

/** Maximum number of listeners that are asked. */
const MOST_ASKED = 12;

/**
 * Asks the listeners of this machine that `isWanted` accepts, one after the other, the usual ports first, whether they
 * take webhooks; answers the likeliest receiver first. With a `secret`, those that refuse what is unsigned get a test event
 * signed with it, and one that takes it is the likeliest. The search ends at the first one that is sure.
 */
export async function searchReceivers(
  isWanted: (listener: Listener) => boolean,
  secret?: string,
): Promise<SearchResult> {
  const listed = await listListeners();
  if (!listed.ok) return listed;
  const found: FoundReceiver[] = [];
  for (const listener of listed.listeners.filter(isWanted).slice(0, MOST_ASKED)) {
    const probe = await probeReceiver(listener);
    const refuses = probe.finding === "refuses_unsigned" || isRefusing(probe);
    const hasSecret = secret !== undefined && refuses && (await takesSecret(probe.url, secret));
    found.push({ ...probe, listener, hasSecret });
    if (hasSecret || (secret === undefined && probe.finding === "refuses_unsigned")) break;
  }
  const certainty = ({ finding, hasSecret }: FoundReceiver) => (hasSecret ? -1 : FINDINGS.indexOf(finding));
  return { ok: true, found: found.toSorted((left, right) => certainty(left) - certainty(right)) };
}

/** Whether it refuses what is unsigned at whatever path, as a receiver without routes does. */
function isRefusing({ finding, status }: Probe): boolean {
  return finding === "everywhere" && status !== null && isRefusal(status);
}

/** Whether a path was found that takes webhooks, or refuses those that nobody signed. */
export function takesWebhooks({ finding }: Probe): boolean {
  return finding === "refuses_unsigned" || finding === "takes_unsigned" || finding === "fails";
}

/**
 * The one that webhooks can be sent to without asking: it takes them at a path, or it is the only one that refuses, at
 * whatever path, what nobody signed, as a receiver without routes does. Undefined where that could be anybody.
 */
export function likeliestReceiver(found: readonly FoundReceiver[]): FoundReceiver | undefined {
  const [surest] = found;
  if (surest !== undefined && (surest.hasSecret || takesWebhooks(surest))) return surest;
  const refusing = found.filter(isRefusing);
  return refusing.length === 1 ? refusing[0] : undefined;
}

import { numberOf } from "./format.ts";
import { live } from "./live.ts";
import type { Delivery, VerdictResult } from "./types.ts";

/** Results in the order in which they are told, with their words. */
export const RESULT_WORDS: Record<VerdictResult, string> = {
  ok: "Right",
  not: "Not right",
  unknown: "Nobody can tell",
  waiting: "Too early to tell",
};

/** What a delivery can be meant as, in words that count them. */
const MEANT_WORDS: Record<Delivery["verdict"]["meant"], [one: string, many: string]> = {
  honest: ["honest", "honest"],
  duplicate: ["duplicate", "duplicates"],
  forged: ["forged", "forged"],
  answer_lost: ["answer lost", "answers lost"],
  cut_off: ["cut off", "cut off"],
  unfamiliar: ["unfamiliar", "unfamiliar"],
  slow: ["slow", "slow"],
};

export type VerdictCounts = Record<VerdictResult | "total", number> & { meant: string[] };

/** How many deliveries have each result, of all or of one endpoint; in words, what those that are right were meant as. */
export function verdictCounts(endpointId = ""): VerdictCounts {
  const counts: VerdictCounts = { ok: 0, not: 0, unknown: 0, waiting: 0, total: 0, meant: [] };
  const right = new Map<string, number>();
  for (const { endpoint_id: id, meant, result, count } of live.clock?.verdicts.counts ?? []) {
    if (endpointId !== "" && id !== endpointId) continue;
    counts[result] += count;
    counts.total += count;
    if (result === "ok") right.set(meant, (right.get(meant) ?? 0) + count);
  }
  for (const [meant, [one, many]] of Object.entries(MEANT_WORDS)) {
    const count = right.get(meant) ?? 0;
    if (count > 0) counts.meant.push(`${numberOf(count)} ${count === 1 ? one : many}`);
  }
  return counts;
}

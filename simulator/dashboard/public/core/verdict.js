import { live } from "./live.js";

/** Results in the order in which they are told, with their words. */
export const RESULT_WORDS = {
  ok: "Right",
  not: "Not right",
  unknown: "Nobody can tell",
  waiting: "Too early to tell",
};

/** What a delivery can be meant as, in words that count them. */
const MEANT_WORDS = {
  honest: ["honest", "honest"],
  duplicate: ["duplicate", "duplicates"],
  forged: ["forged", "forged"],
  answer_lost: ["answer lost", "answers lost"],
  cut_off: ["cut off", "cut off"],
  unfamiliar: ["unfamiliar", "unfamiliar"],
  slow: ["slow", "slow"],
};

/** How many deliveries have each result, of all or of one endpoint: `{ ok, not, unknown, waiting, total, meant }`. */
export function verdictCounts(endpointId = "") {
  const counts = { ok: 0, not: 0, unknown: 0, waiting: 0, total: 0, meant: [] };
  const right = new Map();
  for (const { endpoint_id: id, meant, result, count } of live.clock?.verdicts.counts ?? []) {
    if (endpointId !== "" && id !== endpointId) continue;
    counts[result] += count;
    counts.total += count;
    if (result === "ok") right.set(meant, (right.get(meant) ?? 0) + count);
  }
  for (const [meant, [one, many]] of Object.entries(MEANT_WORDS)) {
    const count = right.get(meant) ?? 0;
    if (count > 0) counts.meant.push(`${count} ${count === 1 ? one : many}`);
  }
  return counts;
}

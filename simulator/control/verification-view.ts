import type { Verification } from "../verbs/verification.ts";
import { checkValue } from "../verify/reports/json.ts";

/** A run of `verify`: how far it is, its verdict once it has one, and its checks, or those with `checkIds` alone. */
export function verificationView(verification: Verification, checkIds?: readonly string[]) {
  const { id, endpointId, url, startedAtMs, total, done, results, again, report } = verification;
  const shown = checkIds === undefined ? results : results.filter(({ check }) => checkIds.includes(check.id));
  return {
    object: "verification",
    id,
    endpoint_id: endpointId,
    url,
    started_at: new Date(startedAtMs).toISOString(),
    state: report === undefined ? "running" : "ended",
    verdict: report?.verdict ?? null,
    incomplete: report?.incomplete ?? null,
    seed: again.seed,
    duration_ms: report === undefined ? null : Math.round(report.durationMs),
    total,
    done,
    checks: shown.map((result) => checkValue(again, result, { withAllEvidence: true })),
  };
}

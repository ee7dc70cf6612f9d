import { type Format, FORMAT_NAMES, FORMATS, isFormat } from "../verify/reports/formats.ts";
import type { Paint } from "../verify/reports/pretty.ts";
import { answerError, jsonBody, orRefuse, readBody } from "./answers.ts";
import type { Router } from "express";
import { z } from "zod";
import type { Simulator } from "../verbs/simulator.ts";
import type { Verification } from "../verbs/verification.ts";
import { causesValue, checkValue } from "../verify/reports/json.ts";

const selectionSchema = z.strictObject({ only: z.array(z.string()).min(1).optional() });

export function verificationRoutes(router: Router, { verification }: Simulator): void {
  router.post("/endpoints/:id/verify", async (request, response) => {
    const selection = readBody(selectionSchema, request);
    const started = orRefuse(await verification.start(request.params.id, selection));
    response.status(202).json(verificationView(started.verification));
  });

  router.get("/verification", (_request, response) => {
    const current = verification.current();
    response.json({
      object: "verification_state",
      verification: current === undefined ? null : verificationView(current),
    });
  });

  router.post("/verification/cancel", async (_request, response) => {
    response.json({ canceled: await verification.cancel() });
  });
}

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
    causes: causesValue(results),
    checks: shown.map((result) => checkValue(again, result, { withAllEvidence: true })),
  };
}

const LARGEST_REPORT_BYTES = 5 * 1024 * 1024;

const FILES: Record<Format, { name: string; type: string }> = {
  pretty: { name: "verify.txt", type: "text/plain" },
  json: { name: "verify.json", type: "application/json" },
  junit: { name: "verify.xml", type: "application/xml" },
  markdown: { name: "verify.md", type: "text/markdown" },
  github: { name: "verify-annotations.txt", type: "text/plain" },
};

type Kept = { receivedAtMs: number; texts: ReadonlyMap<Format, () => string>; report?: unknown };

/** The last report of `verify`: one that was posted (in memory, 5 MB at most), or the files of our own last run. */
export function reportRoutes(router: Router, { clock, verification }: Simulator): void {
  let given: Kept | undefined;
  router.post("/reports/verify", jsonBody(LARGEST_REPORT_BYTES), (request, response) => {
    const report: unknown = request.body;
    if (typeof report !== "object" || report === null || Array.isArray(report))
      return answerError(response, "invalid_request", "A report is a JSON object.");
    given = {
      receivedAtMs: clock.wallNowMs(),
      report,
      texts: new Map([["json", () => `${JSON.stringify(report, null, 2)}\n`]]),
    };
    response.status(201).json({ received: true });
  });

  router.get("/reports/verify", (_request, response) => {
    const kept = last();
    response.json({
      object: "verify_report",
      received_at: kept === undefined ? null : new Date(kept.receivedAtMs).toISOString(),
      formats: [...(kept?.texts.keys() ?? [])],
      report: kept?.report ?? null,
    });
  });

  router.get("/reports/verify/:format", (request, response) => {
    const { format } = request.params;
    const text = isFormat(format) ? last()?.texts.get(format) : undefined;
    if (!isFormat(format) || text === undefined) {
      const has = [...(last()?.texts.keys() ?? [])].join(", ") || "none";
      return answerError(
        response,
        "not_found",
        `There is no report as ${JSON.stringify(format)}; there is: ${has}. A report that was sent here is JSON alone.`,
      );
    }
    const { name, type } = FILES[format];
    response.attachment(name).type(type).send(text());
  });

  function last(): Kept | undefined {
    const { report, endedAtMs = 0 } = verification.current() ?? {};
    if (report === undefined || (given !== undefined && given.receivedAtMs >= endedAtMs)) return given;
    const texts = FORMAT_NAMES.map((format) => [format, () => FORMATS[format](report, plainly)] as const);
    return { receivedAtMs: endedAtMs, texts: new Map(texts) };
  }
}

const plainly: Paint = (_style, text) => text;

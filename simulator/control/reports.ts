import { type Format, FORMATS, isFormat } from "../verify/reports/formats.ts";
import type { Paint } from "../verify/reports/pretty.ts";
import { answerError, orRefuse, readBody } from "./answers.ts";
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

  // The report of the last run as a file.
  router.get("/verification/:format", (request, response) => {
    const { format } = request.params;
    const report = verification.current()?.report;
    if (!isFormat(format) || report === undefined)
      return answerError(
        response,
        "not_found",
        `No report as ${JSON.stringify(format)}: the formats, after a run, are ${Object.keys(FILES).join(", ")}.`,
      );
    const { name, type } = FILES[format];
    response.attachment(name).type(type).send(FORMATS[format](report, plainly));
  });
}

/** A run of `verify`: its progress, its verdict once it has one, and its checks, or only those in `checkIds`. */
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

const FILES: Record<Format, { name: string; type: string }> = {
  pretty: { name: "verify.txt", type: "text/plain" },
  json: { name: "verify.json", type: "application/json" },
  junit: { name: "verify.xml", type: "application/xml" },
  markdown: { name: "verify.md", type: "text/markdown" },
  github: { name: "verify-annotations.txt", type: "text/plain" },
};

const plainly: Paint = (_style, text) => text;

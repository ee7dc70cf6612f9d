import express, { Router } from "express";
import { answerError } from "./answers.ts";

const LARGEST_REPORT_BYTES = 5 * 1024 * 1024;

/**
 * The last report of `verify`, for the dashboard: POST keeps one, GET shows it, null while there is none. In memory
 * only, and at most 5 MB of it. Stands before the parser of other bodies, since its bound is its own.
 */
export function reportRoutes(now: () => number): Router {
  let kept: { receivedAtMs: number; report: unknown } | undefined;
  const router = Router();

  router.post("/reports/verify", express.json({ limit: LARGEST_REPORT_BYTES }), (request, response) => {
    const report: unknown = request.body;
    if (typeof report !== "object" || report === null || Array.isArray(report)) {
      return answerError(response, 400, "invalid_request", "A report is a JSON object.");
    }
    kept = { receivedAtMs: now(), report };
    response.status(201).json({ received: true });
  });

  router.get("/reports/verify", (_request, response) => {
    response.json({
      object: "verify_report",
      received_at: kept === undefined ? null : new Date(kept.receivedAtMs).toISOString(),
      report: kept?.report ?? null,
    });
  });

  return router;
}

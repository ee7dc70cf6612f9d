import type { Router } from "express";
import type { Simulator } from "../verbs/simulator.ts";
import { type Format, FORMAT_NAMES, FORMATS, isFormat } from "../verify/reports/formats.ts";
import type { Paint } from "../verify/reports/pretty.ts";
import { answerError, jsonBody } from "./answers.ts";

const LARGEST_REPORT_BYTES = 5 * 1024 * 1024;

const FILES: Record<Format, { name: string; type: string }> = {
  pretty: { name: "verify.txt", type: "text/plain" },
  json: { name: "verify.json", type: "application/json" },
  junit: { name: "verify.xml", type: "application/xml" },
  markdown: { name: "verify.md", type: "text/markdown" },
  github: { name: "verify-annotations.txt", type: "text/plain" },
};

type Kept = { receivedAtMs: number; texts: ReadonlyMap<Format, () => string>; report?: unknown };

/**
 * The last report of `verify`, for the dashboard: POST keeps one that the command made, and GET shows it. If our own last
 * run came later, GET shows its files alone, since GET /verification has the rest. In memory only, and at most 5 MB of it.
 * Stands before the parser of other bodies, since its bound is its own.
 */
export function reportRoutes(router: Router, { clock, verification }: Simulator): void {
  let given: Kept | undefined;
  router.post("/reports/verify", jsonBody(LARGEST_REPORT_BYTES), (request, response) => {
    const report: unknown = request.body;
    if (typeof report !== "object" || report === null || Array.isArray(report)) {
      return answerError(response, "invalid_request", "A report is a JSON object.");
    }
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

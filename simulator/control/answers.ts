import express, { type Request, type RequestHandler, type Response } from "express";
import type { z } from "zod";
import { exactNumbers } from "../domain/exact-json.ts";
import { jsonShapeProblem } from "../json-shape.ts";
import type { RefusalReason, Refused } from "../domain/refused.ts";

/** An error of the control API: `{ "error", "message" }`, where the message says what to do. */
export function answerError(response: Response, status: number, error: string, message: string): void {
  response.status(status).json({ error, message });
}

const STATUS_OF_REFUSAL: Record<RefusalReason, number> = {
  not_found: 404,
  invalid_request: 400,
  endpoint_deleted: 409,
  nothing_due: 409,
  not_selected: 409,
  id_taken: 409,
  already_running: 409,
};

/** The error that a refusal of the simulator's is. */
export function answerRefusal(response: Response, { reason = "invalid_request", message }: Refused): void {
  answerError(response, STATUS_OF_REFUSAL[reason], reason, message);
}

/** A whole list of the control API. */
export function answerList(response: Response, data: unknown[]): void {
  response.json({ object: "list", data });
}

/**
 * A page of a list: where there may be more, `next_cursor` is the `starting_after` of the next page. Looking through a
 * long list ends early, so a page may be short, or empty, though there are more.
 */
export function answerPage(response: Response, data: unknown[], next: string | null): void {
  response.json({ object: "list", data, has_more: next !== null, next_cursor: next });
}

/** Reads the body by its schema, or answers 400 with each field that is wrong and why. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  request: Request,
  response: Response,
): z.infer<Schema> | undefined {
  return read(schema, request.body ?? {}, response);
}

/** Reads the query parameters by their schema, or answers 400. */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  request: Request,
  response: Response,
): z.infer<Schema> | undefined {
  return read(schema, request.query, response);
}

function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  response: Response,
): z.infer<Schema> | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  answerError(response, 400, "invalid_request", parsed.error.issues.map(describe).join(" "));
  return undefined;
}

function describe(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join(".");
  return `${path === "" ? "The request" : path}: ${issue.message}.`.replace(/\.\.$/, ".");
}

/** Reads JSON bodies of at most `limitBytes`; one that is nested too deeply, or has too many values, is not parsed at all. */
export function jsonBody(limitBytes: number): RequestHandler {
  return express.json({
    limit: limitBytes,
    reviver: exactNumbers,
    verify(_request, _response, bytes) {
      const problem = jsonShapeProblem(bytes);
      if (problem !== undefined) throw new Error(problem);
    },
  });
}

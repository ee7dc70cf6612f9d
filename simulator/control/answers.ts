import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from "express";
import type { z } from "zod";
import { exactNumbers } from "../domain/exact-json.ts";
import { jsonShapeProblem } from "../text/json-shape.ts";
import { type ErrorCode, refusedBy, type Refused, STATUS_OF } from "../domain/refused.ts";

/** An error of the control API: `{ "error", "message" }`; the message says what to do. */
export function answerError(response: Response, error: ErrorCode, message: string): void {
  response.status(STATUS_OF[error]).json({ error, message });
}

/** The value of a result. A refusal ends the route, and `answerRefusals` sends it. */
export function orRefuse<Done extends { ok: true }>(result: Done | Refused): Done {
  if (result.ok) return result;
  throw new Refusal(result.message, result.reason);
}

class Refusal extends Error {
  readonly reason: ErrorCode;

  constructor(message: string, reason: ErrorCode = "invalid_request") {
    super(message);
    this.reason = reason;
  }
}

export const answerRefusals: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (!(error instanceof Refusal)) return next(error);
  answerError(response, error.reason, error.message);
};

export function answerList(response: Response, data: unknown[]): void {
  response.json({ object: "list", data });
}

/** A page of a list, which may be short or empty though there are more: `next_cursor` is the next `starting_after`. */
export function answerPage(response: Response, data: unknown[], next: string | null): void {
  response.json({ object: "list", data, has_more: next !== null, next_cursor: next });
}

/** Reads the body by its schema; a refusal names each wrong field and why. */
export function readBody<Schema extends z.ZodType>(schema: Schema, request: Request): z.infer<Schema> {
  return read(schema, request.body ?? {});
}

export function readQuery<Schema extends z.ZodType>(schema: Schema, request: Request): z.infer<Schema> {
  return read(schema, request.query);
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Refusal(refusedBy(parsed.error).message);
}

/** Reads JSON bodies of at most `limitBytes`; bodies nested too deeply or with too many values are refused unparsed. */
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

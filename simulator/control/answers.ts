import type { Request, Response } from "express";
import type { z } from "zod";

/** An error of the control API: `{ "error", "message" }`, where the message says what to do. */
export function answerError(response: Response, status: number, error: string, message: string): void {
  response.status(status).json({ error, message });
}

/** A list of the control API. */
export function answerList(response: Response, data: unknown[], more: Record<string, unknown> = {}): void {
  response.json({ object: "list", data, ...more });
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

import { z } from "zod";

/** An error answer of the REST API (SPEC §7). */
export const errorSchema = z.looseObject({ error: z.string(), message: z.string() });

export type ErrorBody = { error: string; message: string };

/**
 * HTTP status of every error code. `invalid_request` is a reading: the service does not publish the code for a bad
 * `limit`, `outcome` or `reviewed`.
 */
export const ERROR_STATUS = {
  invalid_cursor: 400,
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  server_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

import { expect } from "vitest";

/** Any time as the API shows it. */
export const time: unknown = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

/** A refusal with this code, and a message in a whole sentence. */
export const error = (code: string) => ({ error: code, message: expect.stringMatching(/^\S.{15,}[.)]$/s) });

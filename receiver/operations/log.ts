import pino from "pino";
import { PERSONAL_FIELDS } from "./privacy.ts";

export type Log = pino.Logger;

/** Fields that never reach a log, however deep a handler puts them. */
const PRIVATE_FIELDS = [...PERSONAL_FIELDS, "authorization", "secret", "signature", "body"];
const DEPTHS = ["", "*.", "*.*.", "*.*.*.", "*.*.*.*."];

/** The receiver's log: one JSON object a line on standard output. */
export function createLog(options: {
  level: string;
  name?: string;
  destination?: pino.DestinationStream;
}): Log {
  // Asynchronous: a reader of our output that stops reading must not stop the acknowledgements. What it doesn't read is
  // dropped beyond a megabyte instead of piling up.
  const destination = options.destination ?? pino.destination({ sync: false, maxLength: 1_048_576 });
  return pino(
    {
      level: options.level,
      base: options.name === undefined ? null : { part: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: describeError },
      redact: {
        paths: DEPTHS.flatMap((depth) => PRIVATE_FIELDS.map((field) => depth + field)),
        censor: "[redacted]",
      },
    },
    destination,
  );
}

/** An error without the properties that libraries hang on it, which may hold whole requests. */
function describeError(error: unknown): { type: string; message: string; stack?: string } {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return {
    type: error.name,
    message: error.message,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
  };
}

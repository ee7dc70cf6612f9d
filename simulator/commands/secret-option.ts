import { Option } from "commander";
import { readTextFile } from "../files/bounded-file.ts";
import { usageError } from "./command-error.ts";

const MOST_SECRET_BYTES = 64 * 1024;

export function secretOption(): Option {
  return new Option("--secret <secret>", "the endpoint's signing secret; @FILE reads it from a file").env(
    "SIGNING_SECRET",
  );
}

/** The secret without a line break at its end, which editors add to files. */
export function wantSecret(given: string | undefined): string {
  const secret = wantWrittenSecret(given).replace(/\r?\n$/, "");
  if (/^\S+$/.test(secret)) return secret;
  throw usageError("--secret: a signing secret has at least one character and no white space.");
}

/** The secret exactly as written, including a final line break; ends the command if there is none. */
export function wantWrittenSecret(given: string | undefined): string {
  if (given === undefined || given === "")
    throw usageError("No signing secret: give it with --secret, or in the variable SIGNING_SECRET.");
  return given.startsWith("@") ? secretFile(given.slice(1)) : given;
}

/** A label that distinguishes a hidden secret; `last4` is empty if the secret is too short to show any of it. */
export function secretHint(last4: string | null): string {
  return last4 === null || last4 === "" ? "too short to show its end" : `ends in ${last4}`;
}

function secretFile(path: string): string {
  const content = readTextFile(path, { name: `--secret @${path}`, mostBytes: MOST_SECRET_BYTES });
  if (content.ok) return content.text;
  throw usageError(content.message);
}

import { z } from "zod";

/** Below this a token can be guessed. */
const SHORTEST_TOKEN_CHARACTERS = 16;

/** A whole number within bounds. */
export function integer(options: { default: number; minimum: number; maximum: number }) {
  const rule = `must be a whole number from ${String(options.minimum)} to ${String(options.maximum)}`;
  return z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined) return options.default;
      const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
      if (value >= options.minimum && value <= options.maximum) return value;
      context.addIssue(`${rule}, not "${text}". Leave it out for ${String(options.default)}.`);
      return z.NEVER;
    });
}

/** One of some words. */
export function choice<const Choices extends readonly [string, ...string[]]>(
  choices: Choices,
  fallback: Choices[number],
) {
  return z
    .enum(choices, {
      error: (issue) => `must be one of ${choices.join(", ")}, not "${String(issue.input)}".`,
    })
    .default(fallback);
}

/** Secrets, separated by commas. */
export const secrets = z.string().transform((text, context) => {
  const given = text.split(",");
  for (const [index, secret] of given.entries()) {
    const which =
      given.length === 1 ? "the secret" : `secret ${String(index + 1)} of ${String(given.length)}`;
    if (secret === "") context.addIssue(`${which} is empty. Remove the stray comma.`);
    else if (/\s|^(["']).*\1$/.test(secret))
      context.addIssue(`${which} contains white space, or stands in quotes. Remove them.`);
  }
  return given;
});

/** A file for SQLite, or the address of a PostgreSQL database; the other is undefined. */
export const databaseUrl = z
  .string()
  .default("sqlite:data/receiver.db")
  .transform((url, context): { databaseFile: string | undefined; databaseUrl: string | undefined } => {
    if (/^postgres(ql)?:/.test(url)) {
      if (URL.canParse(url)) return { databaseUrl: url, databaseFile: undefined };
      context.addIssue("is no address such as postgres://host:5432/db. In passwords, / is %2F and @ is %40.");
      return z.NEVER;
    }
    const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
    if (file === undefined || file === ":memory:") {
      context.addIssue(
        "must name a file on a local disk, such as sqlite:data/receiver.db or sqlite:/var/lib/receiver.db, or a database such as postgres://host/receiver.",
      );
      return z.NEVER;
    }
    return { databaseFile: file, databaseUrl: undefined };
  });

/** The token that callers of the admin port send. */
export const token = z
  .string()
  .regex(
    new RegExp(`^[!-~]{${String(SHORTEST_TOKEN_CHARACTERS)},}$`),
    `must have at least ${String(SHORTEST_TOKEN_CHARACTERS)} characters and no white space. Make one with: openssl rand -hex 24`,
  );

/** Names of hosts without a port, separated by commas. */
export const hosts = z
  .string()
  .regex(
    /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?:,(?:[a-z0-9._-]+|\[[0-9a-f:.]+\]))*$/,
    "must be names of hosts in lower case, separated by commas and without a port, such as receiver.internal,10.0.0.7.",
  )
  .transform((text) => text.split(","));

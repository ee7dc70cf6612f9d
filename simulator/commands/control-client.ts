import { Option, type Command } from "commander";
import { z } from "zod";
import { CommandError, EXIT, usageError } from "./command-error.ts";
import { jsonOf } from "../domain/exact-json.ts";
import { requestText } from "../sender/request-text.ts";
import { DEFAULT_SIMULATOR, ourCommand } from "../text/invocation.ts";
import { interruptible } from "./interrupt.ts";
import { messageOf } from "../text/errors.ts";

const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024;

/** How a command reaches the running simulator. */
export type SimulatorFlags = { simulator: string; token?: string | undefined; json?: boolean };

const errorSchema = z.looseObject({ message: z.string() });

export function simulatorOption(): Option {
  return new Option("--simulator <url>", "the running simulator").env("VOICE_AGENT_SIMULATOR_URL");
}

export function addSimulatorOptions(command: Command): Command {
  return command
    .addOption(simulatorOption().default(DEFAULT_SIMULATOR))
    .addOption(
      new Option("--token <token>", "its token, when it is bound wider than loopback").env(
        "VOICE_AGENT_SIMULATOR_TOKEN",
      ),
    )
    .option("--json", "print JSON");
}

export type ControlClient = ReturnType<typeof createControlClient>;

export function listPath(path: string, parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `${path}?${new URLSearchParams(given).toString()}`;
}

/** The URL of a simulator's path; an invalid address ends the command. */
export function simulatorUrl(simulator: string, path: string): URL {
  const url = URL.canParse(path, simulator) ? new URL(path, simulator) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw usageError(`--simulator ${simulator} is not a URL: write it in full, such as ${DEFAULT_SIMULATOR}.`);
}

/** A client of the control API. An error ends the command with one line that says what to do. */
export function createControlClient(flags: SimulatorFlags) {
  async function call<Schema extends z.ZodType>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    schema: Schema,
    body?: unknown,
  ): Promise<z.input<Schema>> {
    const url = simulatorUrl(flags.simulator, path);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(text !== undefined && {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(text)),
      }),
      ...(flags.token !== undefined && { authorization: `Bearer ${flags.token}` }),
    };
    // No time limit until the answer begins: the clock may have to make hours of attempts first.
    const answer = await interruptible((signal) =>
      requestText(url, { method, headers, body: text, signal, mostBytes: LARGEST_ANSWER_BYTES }),
    ).catch((error: unknown) => {
      const progress = ourCommand("clock", flags);
      if (error instanceof Error && error.name === "AbortError")
        throw new CommandError(`Interrupted: the simulator continues. See its progress:  ${progress}`);
      throw new CommandError(
        `No simulator answers at ${flags.simulator} (${messageOf(error)}): start one with ${ourCommand("serve")}, or name yours with --simulator.`,
      );
    });
    const value = jsonOf(answer.text);
    const refusal = answer.status >= 400 ? errorSchema.safeParse(value) : undefined;
    if (refusal?.success === true) {
      const exitCode = answer.status < 500 ? EXIT.wrongUsage : EXIT.couldNotRun;
      throw new CommandError(refusal.data.message + (answer.status === 404 ? listHint(path) : ""), exitCode);
    }
    if (refusal === undefined && fits(schema, value)) return value;
    throw new CommandError(
      `${flags.simulator} does not answer like a simulator (${answer.status}): another program or another version may run there.`,
    );
  }

  function listHint(path: string): string {
    const [, noun] = /^\/control\/(endpoints|events|deliveries)\/./.exec(path) ?? [];
    return noun === undefined ? "" : ` List them:  ${ourCommand(noun, flags)}`;
  }

  return {
    get: <Schema extends z.ZodType>(path: string, schema: Schema) => call("GET", `/control${path}`, schema),
    post: <Schema extends z.ZodType>(path: string, body: unknown, schema: Schema) =>
      call("POST", `/control${path}`, schema, body),
    patch: <Schema extends z.ZodType>(path: string, body: unknown, schema: Schema) =>
      call("PATCH", `/control${path}`, schema, body),
    remove: (path: string) => call("DELETE", `/control${path}`, z.unknown()),
  };
}

/** Whether an answer has the requested shape; additional fields stay in it. */
function fits<Schema extends z.ZodType>(schema: Schema, value: unknown): value is z.input<Schema> {
  return schema.safeParse(value).success;
}

import { Option, type Command } from "commander";
import { request } from "undici";
import { z } from "zod";
import { CommandError, EXIT } from "./command-error.ts";

/** How a command reaches the running simulator. */
export type SimulatorFlags = { simulator: string; token?: string; json?: boolean };

const errorSchema = z.looseObject({ message: z.string() });

/** Adds the options of every command that talks to a running simulator. */
export function addSimulatorOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--simulator <url>", "the running simulator")
        .default("http://127.0.0.1:4010")
        .env("VOICE_AGENT_SIMULATOR_URL"),
    )
    .addOption(
      new Option("--token <token>", "its token, when it is bound wider than loopback").env(
        "VOICE_AGENT_SIMULATOR_TOKEN",
      ),
    )
    .option("--json", "print JSON");
}

export type ControlClient = ReturnType<typeof createControlClient>;

/** Speaks the control API; what goes wrong ends the command with a line that says what to do. */
export function createControlClient(flags: SimulatorFlags) {
  async function call<Schema extends z.ZodType>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    schema: Schema,
    body?: unknown,
  ): Promise<z.infer<Schema>> {
    const url = new URL(`/control${path}`, flags.simulator);
    const answer = await request(url, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(flags.token !== undefined && { authorization: `Bearer ${flags.token}` }),
      },
      // The clock may have hours of attempts to make before it answers.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new CommandError(
        `No simulator answers at ${flags.simulator} (${why || "connection refused"}): start one with voice-agent-simulator serve, or name yours with --simulator.`,
      );
    });
    const text = await answer.body.text();
    const value = parseJson(text);
    if (answer.statusCode >= 400) {
      const told = errorSchema.safeParse(value);
      const exitCode = answer.statusCode < 500 ? EXIT.wrongUsage : EXIT.couldNotRun;
      throw new CommandError(
        told.success ? told.data.message : `${url.href} answered ${answer.statusCode}.`,
        exitCode,
      );
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new CommandError(
      `${flags.simulator} does not answer like a simulator: is it another program, or another version?`,
    );
  }

  return {
    get: <Schema extends z.ZodType>(path: string, schema: Schema) => call("GET", path, schema),
    post: <Schema extends z.ZodType>(path: string, body: unknown, schema: Schema) =>
      call("POST", path, schema, body),
    patch: <Schema extends z.ZodType>(path: string, body: unknown, schema: Schema) =>
      call("PATCH", path, schema, body),
    remove: (path: string) => call("DELETE", path, z.unknown()),
  };
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

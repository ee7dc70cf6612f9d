import { Command } from "commander";
import { freePort } from "../processes/listening.ts";
import { CommandError, EXIT } from "./command-error.ts";
import { createControlClient, simulatorOption } from "./control-client.ts";
import { clockSchema } from "../domain/shapes.ts";
import { wholeNumber } from "./option-values.ts";
import { createOutput } from "./output.ts";

type Flags = { port: number; simulator?: string; data?: string; token?: string; json?: boolean };

/** One thing that was looked at: what is so, or what is wrong with the fix. */
type Check = { name: string; ok: boolean; message: string };

const fine = (name: string, message: string): Check => ({ name, ok: true, message });
const wrong = (name: string, message: string): Check => ({ name, ok: false, message });

const EARLIEST_PLAUSIBLE_MS = Date.UTC(2026, 0, 1);
const LARGEST_SKEW_MS = 2_000;

/** `doctor`: whether this machine can run the simulator; short when all is well, one line a problem otherwise. */
export default function doctorCommand(): Command {
  return new Command("doctor")
    .description("check that this machine can run the simulator: Node.js, database, port, data file, clock")
    .option("--port <number>", "the port that serve is to use, or uses", wholeNumber(1, 65_535), 4010)
    .addOption(simulatorOption("the running simulator to look at, in place of a port of this machine"))
    .option("--data <file>", "also look at this data file")
    .option("--token <token>", "token of the running simulator")
    .option("--json", "print JSON")
    .action(async (flags: Flags) => {
      const output = createOutput(flags);
      const checks = [
        checkNode(),
        await checkDatabase(flags.data),
        ...(flags.simulator === undefined
          ? await checkPort(flags)
          : await checkSimulator(flags.simulator, flags.token)),
        checkClock(),
      ];
      const problems = checks.filter(({ ok }) => !ok);
      output.value({ object: "doctor", ok: problems.length === 0, checks });
      if (problems.length === 0) {
        output.line(
          `${output.style("green", "All is well:")} ${checks.map(({ message }) => message).join("; ")}.`,
        );
        return;
      }
      for (const { name, message } of problems) output.line(`${output.style("red", name)}  ${message}`);
      process.exitCode = EXIT.checkFailed;
    });
}

/** For bug reports; an older Node.js was refused at the start already. */
function checkNode(): Check {
  return fine("node", `Node.js ${process.versions.node}`);
}

async function checkDatabase(file: string | undefined): Promise<Check> {
  const { default: Database } = await import("better-sqlite3");
  const { inspectDatabase } = await import("../files/database.ts");
  if (file !== undefined) return { name: "data", ...inspectDatabase(file) };
  new Database(":memory:").close();
  return fine("database", "SQLite loads");
}

/** A free port, or a simulator that answers there and has the same time as we. */
async function checkPort({ port, token }: Flags): Promise<Check[]> {
  if ((await freePort(port)) !== undefined) return [fine("port", `port ${port} is free`)];
  const looked = await checkSimulator(`http://127.0.0.1:${port}`, token);
  return looked.map((check) => {
    if (check.ok || check.name !== "simulator") return check;
    const message = `Port ${port} is taken by a program that does not answer like a simulator: stop it, or use serve --port with another. (${check.message})`;
    return wrong("port", message);
  });
}

/** Whether a simulator answers at `simulator`, and has the same time as we. */
async function checkSimulator(simulator: string, token: string | undefined): Promise<Check[]> {
  try {
    const client = createControlClient({ simulator, token });
    const clock = await client.get("/clock", clockSchema);
    const skewMs = Math.abs(Date.parse(clock.wall_now) - Date.now());
    const answers = `a simulator answers at ${simulator}, clock ${clock.mode}`;
    const checks: Check[] = [fine("simulator", answers)];
    if (skewMs > LARGEST_SKEW_MS) {
      const message = `The simulator's clock and this one differ by ${Math.round(skewMs / 1000)} s: set both by a time server, since signatures are good for 300 s.`;
      checks.push(wrong("clock", message));
    }
    return checks;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [wrong("simulator", error.message)];
  }
}

function checkClock(): Check {
  const now = new Date().toISOString().slice(0, 19);
  return Date.now() > EARLIEST_PLAUSIBLE_MS
    ? fine("clock", `the clock says ${now}Z`)
    : wrong(
        "clock",
        `The machine's clock says ${now}Z: set it, since receivers refuse signatures that are 300 s off.`,
      );
}

import { Command } from "commander";
import { freePort } from "../processes/listening.ts";
import { EXIT } from "./command-error.ts";
import { isSimulatorAt } from "./health.ts";
import { wholeNumber } from "./option-values.ts";
import { createOutput } from "./output.ts";

type Check = { name: string; ok: boolean; message: string };

const LONGEST_MS = 30_000;

/** `doctor`: whether this machine can run the simulator; short when all is well, one line a problem otherwise. */
export default function doctorCommand(): Command {
  return new Command("doctor")
    .description("check that this machine can run the simulator: Node.js, database, port")
    .option("--port <number>", "the port that serve is to use, or uses", wholeNumber(1, 65_535), 4010)
    .option("--json", "print JSON")
    .action(async ({ port, json }: { port: number; json?: boolean }) => {
      const output = createOutput({ json });
      const checks = [await checkDatabase(), await checkPort(port)];
      const problems = checks.filter(({ ok }) => !ok);
      output.value({ object: "doctor", ok: problems.length === 0, checks });
      const all = checks.map(({ message }) => message).join("; ");
      if (problems.length === 0) return output.line(`${output.style("green", "All is well:")} ${all}.`);
      for (const { name, message } of problems) output.line(`${output.style("red", name)}  ${message}`);
      process.exitCode = EXIT.checkFailed;
    });
}

async function checkDatabase(): Promise<Check> {
  const { default: Database } = await import("better-sqlite3");
  new Database(":memory:").close();
  return { name: "database", ok: true, message: `SQLite loads in Node.js ${process.versions.node}` };
}

async function checkPort(port: number): Promise<Check> {
  const name = "port";
  if ((await freePort(port)) !== undefined) return { name, ok: true, message: `port ${port} is free` };
  if (await isSimulatorAt(`http://127.0.0.1:${port}`, LONGEST_MS))
    return { name, ok: true, message: `a simulator answers at port ${port}` };
  const message = `Port ${port} is taken by another program: stop it, or choose another port with serve --port.`;
  return { name, ok: false, message };
}

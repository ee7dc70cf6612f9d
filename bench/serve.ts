import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createReport } from "./support/report.ts";
import { inTurns, numberOf } from "./support/rounds.ts";

/**
 * How long `serve` takes from the start of its process until it says that it listens, with what Node.js compiled kept from
 * an earlier start; beside a process that does nothing, which is the least there is. Run it with `npm run bench -- serve`.
 */
const STARTS = numberOf("--starts") ?? 15;
const MOST_SECONDS = 0.4;
const main = join(import.meta.dirname, "../simulator/main.ts");

const { nothing, serve } = await inTurns(STARTS, {
  nothing: () => untilItSpeaks(["-p", "1"]),
  serve: () => untilItSpeaks([main, "serve", "--port", "0", "--json"]),
});
const report = createReport();
report.line(`medians of ${STARTS} starts in turns`);
report.line(`a process that does nothing  ${nothing.toFixed(0).padStart(6)} ms`);
report.line(`serve, until it listens      ${serve.toFixed(0).padStart(6)} ms`);
report.held("serve, seconds until it listens", serve / 1000, { atMost: MOST_SECONDS });
report.conclude();

/** Milliseconds from the start of a process to its first output; it is ended then. */
async function untilItSpeaks(args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const tookMs = performance.now() - startedMs;
  child.kill();
  await once(child, "close");
  return tookMs;
}

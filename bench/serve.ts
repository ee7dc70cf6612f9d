import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { z } from "zod";
import { createReport } from "./support/report.ts";
import { inTurns, numberOf } from "./support/rounds.ts";

/**
 * Measures how long `serve` takes until it listens, and until it has answered the first request, with Node.js's compile cache
 * from an earlier start; compared with a process that does nothing. Run it with `npm run bench -- serve`.
 */
const STARTS = numberOf("--starts") ?? 15;
const MOST_SECONDS = 0.4;
const main = join(import.meta.dirname, "../simulator/main.ts");
const startedSchema = z.object({ api_url: z.url() });
const SERVE = [main, "serve", "--port", "0", "--json"];

const { nothing, listens, answers } = await inTurns(STARTS, {
  nothing: () => untilItSpeaks(["-p", "1"]),
  listens: () => untilItSpeaks(SERVE),
  answers: () => untilItSpeaks(SERVE, askFirst),
});
const report = createReport();
report.line(`medians of ${STARTS} starts in turns`);
report.line(`a process that does nothing  ${nothing.toFixed(0).padStart(6)} ms`);
report.line(`serve, until it listens      ${listens.toFixed(0).padStart(6)} ms`);
report.line(`serve, first answer          ${answers.toFixed(0).padStart(6)} ms`);
report.held("serve, seconds until it listens", listens / 1000, { atMost: MOST_SECONDS });
report.held("serve, seconds until its first answer", answers / 1000, { atMost: MOST_SECONDS });
report.conclude();

/** Milliseconds from the start of a process to its first output, and to the end of what follows; it is ended then. */
async function untilItSpeaks(
  args: readonly string[],
  then: (output: string) => Promise<void> = async () => {},
): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await once(child.stdout, "data");
  await then(String(output));
  const tookMs = performance.now() - startedMs;
  child.kill();
  await once(child, "close");
  return tookMs;
}

/** Asks the service whose address is in `output` for the organization of a key. */
async function askFirst(output: string): Promise<void> {
  const { api_url: apiUrl } = startedSchema.parse(JSON.parse(output));
  const answer = await fetch(`${apiUrl}/me`, { headers: { authorization: "Bearer va_test_restaurant" } });
  if (!answer.ok) throw new Error(`The first answer is ${answer.status}.`);
  await answer.text();
}

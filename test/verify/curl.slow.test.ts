import { expect, onTestFinished, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { curlFor, repeatCommand } from "../../simulator/verify/evidence.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { QUICK } from "../mutants/judge.ts";
import { MUTANTS } from "../mutants/mutants.ts";
import { type RunningReceiver, SECRET, startMutant } from "../mutants/receiver.ts";
import { runInBash, standingDate } from "./bash.ts";

/** What a check sent, and the lines that send it again. */
type Line = { of: string; exchange: Exchange; curl: string };

/** Groups without waits, except for these. */
const PLAIN_GROUPS = ["acknowledgement", "signature", "raw-bytes", "duplicates", "evolution", "readings"];
const WAITING = ["acknowledgement.prompt", "readings.whole-answer"];
const SEED = "'$(exit 1) `x` !1";
const LANES = [0, 1, 2];
/** One clock for both sides and the shell, however long a busy machine takes between signing and arrival. */
const NOW_SECONDS = Math.floor(Date.now() / 1_000);
const now = (): number => NOW_SECONDS * 1_000 + 50;
const NO_WAITS = {
  ...QUICK,
  responseTimeoutMs: 5_000,
  stallMs: 50,
  settleMs: 200,
  promptMs: 500,
  promptAnswerMs: 500,
  burst: 4,
  manyOthers: 4,
};

test("each check's curl, pasted into bash, ends like the delivery that it repeats", async () => {
  const receiver = await start();
  const { lines, without } = await everythingSent(receiver);

  expect(new Set(lines.map(({ of }) => of)).size).toBeGreaterThan(110);
  expect(without.map(({ request }) => request).filter(fitsACommandLine)).toEqual([]);
  expect(await differing(lines)).toEqual([]);
});

test("each failure's curl and verify line reproduce the failure", async () => {
  const mutants = Object.entries(MUTANTS);
  const failures: (Line & { again: string; id: string; url: string })[] = [];
  const next = mutants.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const [name, { plant, caughtBy: id, cause }] of next) {
        const checks = CATALOGUE.filter((check) => check.id === id && PLAIN_GROUPS.includes(check.group));
        if (cause === "ended" || checks.length === 0 || WAITING.includes(id)) continue;
        const { url } = await start(plant);
        const report = await verifyReceiver({
          url,
          secret: SECRET,
          seed: SEED,
          checks,
          failOn: [],
          readyTimeoutMs: 30_000,
          now,
        });
        const failure = report.results.find(({ check, outcome }) => check.id === id && outcome === "failed");
        const [exchange] = failure?.exchanges ?? [];
        const curl = exchange && curlFor(exchange.request);
        // The duration of a wait without an answer is not compared.
        if (failure === undefined || exchange?.outcome.kind !== "answered" || curl === undefined) continue;
        failures.push({
          of: `${name}: ${id}`,
          id,
          url,
          exchange,
          curl,
          again: repeatCommand(report, failure),
        });
      }
    }),
  );
  expect(failures.length).toBeGreaterThan(70);
  expect(await differing(failures)).toEqual([]);

  const argvs = await runInBash(
    failures.map(({ again }) => again),
    { SIGNING_SECRET: SECRET },
    `voice-agent-simulator() { printf '%s\\n' "$@"; }`,
  );
  const words = argvs.map((output) => output.trimEnd().split("\n"));
  expect(words).toEqual(
    failures.map(({ id, url }) => ["verify", url, "--secret", SECRET, "--only", id, "--seed", SEED]),
  );
});

async function start(plant: Parameters<typeof startMutant>[0] = {}): Promise<RunningReceiver> {
  const receiver = await startMutant(plant, now);
  onTestFinished(() => receiver.close());
  return receiver;
}

function runAll(receiver: RunningReceiver, checks: readonly Check[]) {
  return runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "curl",
    checks,
    observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
    timing: NO_WAITS,
    now,
  });
}

/** Every kind of delivery that a check makes, with its curl, and those that have none. */
async function everythingSent(receiver: RunningReceiver): Promise<{ lines: Line[]; without: Exchange[] }> {
  const lines: Line[] = [];
  const without: Exchange[] = [];
  const watched = CATALOGUE.filter(({ group }) => group !== "crash").map((check): Check => ({
    ...check,
    async run(context) {
      const verdict = await check.run(context);
      const mine = context.ledger.all().filter(({ checkIds }) => checkIds.has(check.id));
      // Those that differ only in their bodies test the same.
      const byShape = new Map<string, Line>();
      for (const exchange of mine.flatMap(({ exchanges }) => exchanges)) {
        const curl = curlFor(exchange.request);
        if (curl === undefined) without.push(exchange);
        else byShape.set(curl.replace(/^.*\n/, ""), { of: check.id, exchange, curl });
      }
      lines.push(...byShape.values());
      return verdict;
    },
  }));
  await runAll(receiver, watched);
  return { lines, without };
}

function fitsACommandLine({ note, pieces, body, headers }: Exchange["request"]): boolean {
  const headBytes = headers.reduce((total, [name, value]) => total + name.length + value.length, 0);
  return (note === undefined || pieces !== undefined) && body.length <= 8_192 && headBytes <= 16_384;
}

/** Runs every curl, some in parallel, and returns those that ended differently from the delivery that they repeat. */
async function differing(lines: readonly Line[]): Promise<string[]> {
  const lanes = LANES.map((lane) => lines.filter((_, index) => index % LANES.length === lane));
  const wrong = lanes.map(async (lane) => {
    const scripts = lane.map(({ curl }) => curl);
    const outputs = await runInBash(scripts, { SIGNING_SECRET: SECRET }, standingDate(NOW_SECONDS));
    return lane.flatMap(({ of, exchange: { outcome } }, index) => {
      const expected = outcome.kind === "answered" ? `HTTP/1.1 ${outcome.status} ` : "";
      const output = outputs[index] ?? "nothing ran";
      const isSame = expected === "" ? output === "" : output.startsWith(expected);
      return isSame ? [] : [`${of}: ${JSON.stringify(outcome)} but the curl: ${output.slice(0, 80)}`];
    });
  });
  return (await Promise.all(wrong)).flat();
}

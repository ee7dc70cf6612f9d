import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { repeatCommand } from "../../simulator/verify/evidence.ts";
import { verifyReceiver, type VerifyOptions } from "../../simulator/verify/verify-receiver.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { CRASH_MUTANTS } from "../mutants/crash-mutants.ts";
import { MUTANTS } from "../mutants/mutants.ts";
import type { Behaviour } from "../mutants/behaviour.ts";
import { type RunningReceiver, SECRET, startMutant } from "../mutants/receiver.ts";
import { freePort } from "../helpers/free-port.ts";

/** A receiver with a planted bug, and the check that must fail for it. */
export type Failing = {
  name: string;
  id: string;
  /** Options in addition to URL, secret and check. */
  options?: Partial<VerifyOptions>;
} & ({ plant: Partial<Behaviour> } | { crash: string });

/** The result of a run, and the line that runs it again. */
export type Failure = { name: string; id: string; explanation: string; again: string };

const SEED = "'$(exit 1) `x` !1";
/** Replacements for mutants that only a whole run with the tests' short waits reveals. */
const OTHERWISE: Failing[] = [
  {
    name: "dies-on-reset",
    id: "wire.reset-mid-body",
    plant: { onAborted: (partial, state) => void (partial.length > 100 && state.die()) },
  },
  {
    name: "handles-late",
    id: "effects.prompt",
    plant: { handledAfterMs: ({ type }) => (type === "voicemail.created" ? 6_000 : 0) },
  },
];
/** Every planted bug with the check meant for it. */
export const FAILING: Failing[] = [
  ...Object.entries(MUTANTS)
    .filter(([name]) => !OTHERWISE.some((other) => other.name === name))
    .map(([name, { plant, caughtBy: id }]): Failing => ({ name, id, plant })),
  ...Object.entries(CRASH_MUTANTS).map(([name, { caughtBy: id }]): Failing => ({ name, id, crash: name })),
  ...OTHERWISE,
];

/** Serves the counts of each receiver, each under its own path. */
export async function startCounts() {
  const receivers: (RunningReceiver | undefined)[] = [];
  const server = createServer((request, response) => {
    const [, index, eventId = ""] = (request.url ?? "").split("/");
    response.end(JSON.stringify({ handled: receivers[Number(index)]?.handled(eventId) ?? 0 }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;

  /** Starts a receiver; returns its URL and that of its counts. */
  return async (
    plant: Partial<Behaviour>,
  ): Promise<{ url: string; observeUrl: string; renew: () => Promise<void> }> => {
    const index = receivers.push(undefined) - 1;
    const start = async (listenOn = 0): Promise<RunningReceiver> =>
      (receivers[index] = await startMutant(plant, Date.now, listenOn));
    const { url } = await start();
    onTestFinished(() => receivers[index]?.close());
    return {
      url,
      observeUrl: `http://127.0.0.1:${port}/${index}/{id}`,
      /** Stops it if it runs, and starts it again at the same address. */
      async renew() {
        await receivers[index]?.close();
        await start(Number(new URL(url).port));
      },
    };
  };
}

/** Runs the check meant for it, as a user would; undefined if it did not fail. */
export async function failureOf(
  failing: Failing,
  start: Awaited<ReturnType<typeof startCounts>>,
): Promise<Failure | undefined> {
  const { name, id, options = {} } = failing;
  const { renew, ...receiver } =
    "crash" in failing ? await crashing(failing.crash) : await start(failing.plant);
  const whole = CATALOGUE.some((check) => check.id === id && check.again === "");
  const report = await verifyReceiver({
    ...receiver,
    secret: SECRET,
    secretGiven: true,
    seed: SEED,
    // Some checks judge the events of others.
    checks: CATALOGUE.filter((check) => (whole ? check.group !== "production" : check.id === id)),
    failOn: ["advice"],
    readyTimeoutMs: 30_000,
    now: Date.now,
    ...options,
  });
  const result = report.results.find(({ check, outcome }) => check.id === id && outcome === "failed");
  await renew();
  return result && { name, id, explanation: result.explanation ?? "", again: repeatCommand(report, result) };
}

async function crashing(mutant: string) {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const program = new URL("../mutants/crash-receiver.ts", import.meta.url).pathname;
  const store = join(temporaryDirectory(), "events");
  return {
    url: `${origin}/webhooks`,
    observeUrl: `${origin}/handled/{id}`,
    command: ["env", `MUTANT=${mutant}`, `STORE=${store}`, process.execPath, program],
    /** Deletes its events, as a user does before the next start. */
    async renew() {
      for (const left of [store, `${store}.lock`]) rmSync(left, { force: true });
    },
  };
}

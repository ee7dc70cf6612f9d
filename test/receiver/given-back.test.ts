import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "../../receiver/clock.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { runDoctor } from "../../receiver/operations/commands/care.ts";
import { runJob } from "../../receiver/operations/commands/inbox-run.ts";
import { runReconcile } from "../../receiver/operations/commands/reconcile.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { defineHandler } from "../../receiver/work/handler.ts";
import { createHandlerBench } from "../../receiver/work/handler-bench.ts";
import { sampleOrganization } from "../../shared/samples.ts";
import { listen } from "../helpers/listen.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { RUN_TYPESCRIPT } from "../helpers/typescript.ts";
import { handler, newEvent, newEvents } from "./engine-suite/harness.ts";
import { idOf, newBody } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { until } from "./helpers/until.ts";

/** What the receiver's parts take while they work, and give back at their end. */

test("a bench leaves nothing of its events in the folder for temporary files", async () => {
  const folder = temporaryDirectory();
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const bench = await createHandlerBench(
    defineHandler({ name: "crm", type: "call.completed", handle: () => undefined }),
  );
  const event: unknown = JSON.parse(newBody().toString());
  expect(await bench.run(event as object)).toMatchObject({ outcome: "done" });
  expect(readdirSync(folder)).not.toEqual([]);
  await bench.close();
  expect(readdirSync(folder)).toEqual([]);
  expect(openIn(folder)).toEqual([]);
});

/** Files of a folder that this process holds open, where the system says. */
function openIn(folder: string): string[] {
  if (process.platform !== "linux") return [];
  const held = readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The one that lists them is gone by now.
      return [];
    }
  });
  return held.filter((file) => file.startsWith(folder));
}

/** The REST API as far as it says who asks and has nothing else; its connections stay for as long as the client wants. */
async function startApi() {
  let connections = 0;
  const server = createServer(({ url }, response) => {
    const answer = url?.startsWith("/api/v1/me")
      ? sampleOrganization
      : { object: "list", data: [], has_more: false };
    response.setHeader("Keep-Alive", "timeout=600");
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
  });
  server.keepAliveTimeout = 0;
  server.on("connection", () => (connections += 1));
  const { url } = await listen(server);
  const open = () =>
    new Promise<number>((resolve) => {
      server.getConnections((_error, count) => resolve(count));
    });
  return { baseUrl: url, taken: () => connections, open };
}

test.each(["reconcile", "doctor", "inbox run"])(
  "%s closes its connections to the REST API before it ends",
  async (command) => {
    const { baseUrl, taken, open } = await startApi();
    const { engine, config } = await startTestReceiver();
    const withApi = { ...config, api: { baseUrl, key: "key_test" } };
    const terminal = recordingTerminal();
    const runHandler = async (): Promise<number> => {
      const body = newBody();
      await engine.intake.accept([newEvent({ id: idOf(body), body })]);
      const module = join(temporaryDirectory(), "handlers.mjs");
      const library = new URL("../../receiver/work/handler.ts", import.meta.url).href;
      writeFileSync(
        module,
        `import { defineHandler } from ${JSON.stringify(library)};
        const handle = (_, { api }) => api.me();
        export const handlers = [defineHandler({ name: "asks", type: "*", handle })];`,
      );
      const quiet = { ...withApi, logLevel: "silent" as const };
      const handlersModule = pathToFileURL(module);
      return runJob({ engine, config: quiet, terminal, handlersModule }, idOf(body), {});
    };
    const run: Record<string, () => Promise<number>> = {
      doctor: async () => runDoctor({ config: withApi, engine, terminal }, {}),
      reconcile: async () => runReconcile({ config: withApi, engine, terminal }, { since: 3_600 }),
      "inbox run": runHandler,
    };
    const code = await run[command]?.();
    expect({ code, said: terminal.said, isAsked: taken() > 0 }).toEqual({ code: 0, said: [], isAsked: true });
    await expect.poll(open).toBe(0);
  },
);

/** The real clock, and how many of the timers that were set on it have neither rung nor been given up. */
function countingClock() {
  let waiting = 0;
  const times: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, ring) => {
      times.push(ms);
      let isOver = false;
      const end = (): void => {
        waiting -= isOver ? 0 : 1;
        isOver = true;
      };
      waiting += 1;
      const cancel = systemClock.after(ms, () => {
        end();
        ring();
      });
      return () => {
        end();
        cancel();
      };
    },
  };
  return { clock, times, waiting: () => waiting };
}

test("a request to the REST API has ten seconds, and leaves no timer, however it ends", async () => {
  const { baseUrl } = await startApi();
  const refusing = await listen(createServer((_request, response) => void response.writeHead(401).end("{}")));
  for (const [url, isAnswered] of [
    [baseUrl, true],
    [refusing.url, false],
  ] as const) {
    const { clock, times, waiting } = countingClock();
    const api = createRestClient({ baseUrl: url, key: "key_test", clock, random: () => 0 });
    const asked = api.me().then(
      () => true,
      () => false,
    );
    expect({ times, waiting: waiting() }).toEqual({ times: [10_000], waiting: 1 });
    expect({ isAnswered: await asked, waiting: waiting() }).toEqual({ isAnswered, waiting: 0 });
    await api.close();
  }
});

test("an engine that has worked leaves no timer, and holds no file, once it is closed", async () => {
  const folder = temporaryDirectory();
  const { clock, waiting } = countingClock();
  const engine = await openEngine({ databaseFile: join(folder, "receiver.db"), clock });
  await engine.intake.accept(newEvents(3));
  let ended = 0;
  const processor = await engine.work.process({
    handlers: [handler()],
    handle: async (claim) => {
      await claim.atomically(claim.signal)(async (db) => db.query("SELECT 1"));
      return { kind: "done" };
    },
    workerId: "worker",
    concurrency: 2,
    onHandled: () => (ended += 1),
    onTrouble: () => undefined,
  });
  await until(
    () => ended,
    (count) => count === 3,
  );
  await processor.drain(0);
  expect(waiting()).toBe(0);
  expect((await engine.ledger.counts()).byState.done).toBe(3);
  await engine.close();
  expect(openIn(folder)).toEqual([]);
  // SQLite's own two files beside the work file go with the last who has it open.
  expect(readdirSync(folder).filter((name) => name.startsWith("receiver.work"))).toEqual([
    "receiver.work.db",
  ]);
});

test.runIf(ALL)("nothing of a mounted receiver keeps its app from ending once it has stopped", async () => {
  const library = new URL("../../receiver/index.ts", import.meta.url);
  const program = `
    import { createReceiver, defineHandler } from ${JSON.stringify(library)};
    const receiver = await createReceiver({
      handlers: [defineHandler({ name: "all", type: "*", handle: async () => undefined })],
      signingSecrets: ["whsec_long_enough_for_all"],
      databaseUrl: ${JSON.stringify(`sqlite:${join(temporaryDirectory(), "receiver.db")}`)},
    });
    await receiver.metrics();
    await receiver.stop();`;
  const child = spawn(process.execPath, [...RUN_TYPESCRIPT, "--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  expect(await once(child, "exit")).toEqual([0, null]);
});

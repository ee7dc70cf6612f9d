import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { loadConfig, type Config } from "../../../receiver/config.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver, type Started } from "../../../receiver/receiver.ts";
import { openStore } from "../../../receiver/store/open.ts";
import type { Store } from "../../../receiver/store/port.ts";
import { SECRET } from "./events.ts";
import { makeDirectory, temporaryDirectory } from "./temporary.ts";

export type TestReceiver = Started & { url: string; store: Store; config: Config; logLines: string[] };

/** The configuration that these variables make, on free ports. */
export function testConfig(environment: Record<string, string> = {}): Config {
  const loaded = loadConfig({ SIGNING_SECRET: SECRET, PORT: "0", ADMIN_PORT: "0", ...environment });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  return loaded.config;
}

type Options = {
  environment?: Record<string, string>;
  clock?: Clock;
  wrapStore?: (store: Store) => Store;
  handlersModule?: URL;
};

/** One receiver for all tests of a `describe`: they see each other's events. */
export function useReceiver(options: Options = {}): () => TestReceiver {
  let receiver: TestReceiver | undefined;
  const directory = makeDirectory();
  beforeAll(async () => {
    receiver = await launch(directory, options);
  });
  afterAll(async () => {
    await receiver?.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  return () => receiver!;
}

/**
 * The whole receiver in this process, on free ports, with its own database. Unless the role is `ingest`, its worker is
 * a separate process as usual. Stopped when the test is over.
 */
export async function startTestReceiver(options: Options = {}): Promise<TestReceiver> {
  const receiver = await launch(temporaryDirectory(), options);
  onTestFinished(receiver.stop);
  return receiver;
}

async function launch(directory: string, options: Options): Promise<TestReceiver> {
  const { clock = systemClock, handlersModule, wrapStore = (store) => store } = options;
  const environment = {
    DATABASE_URL: `sqlite:${join(directory, "receiver.db")}`,
    RECEIVER_ROLE: "ingest",
    ...options.environment,
  };
  const config = testConfig(environment);
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const onFatal = (problem: string): void => void logLines.push(problem);
  const store = wrapStore(await openStore({ ...config, clock, isWorker: false, onFatal }));
  const receiver = await startReceiver({
    config,
    store,
    clock,
    log,
    handlersModule,
    environment: () => ({ ...process.env, SIGNING_SECRET: SECRET, ...environment }),
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => (stopped ??= receiver.stop());
  return { ...receiver, url: receiver.url ?? "", stop, store, config, logLines };
}

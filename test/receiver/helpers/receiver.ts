import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { loadConfig, type Config } from "../../../receiver/config.ts";
import type { Engine } from "../../../receiver/engine.ts";
import { openEngine } from "../../../receiver/engines/open.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { startReceiver, type Receiver } from "../../../receiver/receiver.ts";
import { SECRET } from "./events.ts";
import { makeDirectory, temporaryDirectory } from "./temporary.ts";

export type TestReceiver = Receiver & { url: string; engine: Engine; config: Config; logLines: string[] };

/** The configuration that these variables make, on free ports. */
export function testConfig(environment: Record<string, string> = {}): Config {
  const loaded = loadConfig({ SIGNING_SECRET: SECRET, PORT: "0", ADMIN_PORT: "0", ...environment });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  return loaded.config;
}

type Options = {
  environment?: Record<string, string>;
  clock?: Clock;
  wrapEngine?: (engine: Engine) => Engine;
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
 * The whole receiver on free ports with a database of its own, in this process; its worker, unless the role is
 * `ingest`, is a process as ever. Stopped when the test is over.
 */
export async function startTestReceiver(options: Options = {}): Promise<TestReceiver> {
  const directory = temporaryDirectory();
  const receiver = await launch(directory, options);
  onTestFinished(receiver.stop);
  return receiver;
}

async function launch(directory: string, options: Options): Promise<TestReceiver> {
  const databaseFile = join(directory, "receiver.db");
  const environment = {
    DATABASE_URL: `sqlite:${databaseFile}`,
    RECEIVER_ROLE: "ingest",
    ...options.environment,
  };
  const config = testConfig(environment);
  const clock = options.clock ?? systemClock;
  const real = await openEngine({
    databaseFile: config.databaseFile,
    databaseUrl: config.databaseUrl,
    clock,
  });
  const engine = options.wrapEngine?.(real) ?? real;
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const receiver = await startReceiver({
    config,
    engine,
    clock,
    log,
    environment: { ...process.env, ...environment },
    handlersModule: options.handlersModule,
  });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => (stopped ??= receiver.stop());
  return { ...receiver, url: receiver.url ?? "", stop, engine, config, logLines };
}

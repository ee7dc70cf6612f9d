import inspector from "node:inspector";
import { z } from "zod";
import { systemClock } from "../../clock.ts";
import type { FailedJob, Handled, InboxEvent } from "../../engine.ts";
import { createHandlerBench } from "../../work/handler-bench.ts";
import { describeLoadError } from "../../work/code-place.ts";
import type { Handler } from "../../work/handler.ts";
import { startHandlers } from "../../work/handlers-module.ts";
import { startLoop } from "../../work/loop.ts";
import { createLog } from "../log.ts";
import { createRestClient, type RestClient } from "../rest-client.ts";
import { NOT_FOR_HANDLERS, secretsOf } from "../secrets.ts";
import { INSPECT_ADDRESS } from "./arguments.ts";
import { EXIT, Refused, type Terminal } from "./terminal.ts";
import type { InboxContext } from "./with-engine.ts";

export type RunOptions = { handler?: string; dryRun?: boolean; inspect?: string | true; json?: boolean };

const LOOK_MS = 200;
const LOOKS_BEFORE_NOTICE = 15;

/**
 * Runs one attempt of a handler at a stored event, here and now: a dead or ignored job is requeued first. With `dryRun`
 * the inbox stays as it is: the handler runs on an empty database of its own, though what it calls is called.
 */
export async function runJob(
  { engine, config, terminal, handlersModule }: InboxContext & { handlersModule?: URL },
  id: string,
  options: RunOptions,
): Promise<number> {
  // The handler runs in this process, and gets to see no more of the environment than in its own.
  for (const name of NOT_FOR_HANDLERS) Reflect.deleteProperty(process.env, name);
  const event = await engine.ledger.find(id);
  const body = event && (await engine.ledger.body(event.seq));
  if (!event || !body)
    throw new Refused(
      `${id} is not in this inbox, or pruned. See \`inbox list\`, and DATABASE_URL if it should be.`,
      EXIT.usage,
    );
  if (options.inspect !== undefined) waitForDebugger(options.inspect, terminal);
  const { handlers, services, close } = await startHandlers(handlersModule).catch((error: unknown) => {
    throw new Refused(`the handlers cannot be started: ${describeLoadError(error)}`, EXIT.couldNotRun);
  });
  const api = config.api && createRestClient({ ...config.api, clock: systemClock, random: Math.random });
  try {
    const handler = chosen(handlers, event, options.handler);
    const means = { handlers, services, api };
    const result =
      options.dryRun === true
        ? await runDry(handler, body, means, terminal)
        : await runForGood({ engine, config, ...means }, handler, event, terminal);
    if (!result)
      throw new Refused(
        `${handler.name} is done with this event: \`--dry-run\` runs it for show.`,
        EXIT.somethingIsWrong,
      );
    const { outcome, attempt, error } = result;
    const line = `${handler.name}, attempt ${String(attempt)}${error === undefined ? "" : `: ${error}`}`;
    if (options.json === true) terminal.value({ handler: handler.name, outcome, attempt, error });
    else terminal.print(line, { word: outcome, colour: outcome === "done" ? "green" : "red" });
    return outcome === "done" ? EXIT.ok : EXIT.somethingIsWrong;
  } finally {
    await close().catch((error: unknown) =>
      terminal.complain(`the services could not be closed: ${describeLoadError(error)}`),
    );
    await api?.close();
  }
}

/** What handlers run with. */
type Means = { handlers: readonly Handler[]; services: unknown; api: RestClient | undefined };

/** It was stored, so it is an object. */
const eventSchema = z.record(z.string(), z.unknown());

type Result = Pick<Handled, "attempt"> & { outcome: string; error?: string };

/** The handler that was named, or the only one that wants the event. */
function chosen(handlers: readonly Handler[], { type }: InboxEvent, name?: string): Handler {
  const wanting = handlers.filter(({ types }) => types === "*" || (type !== null && types.includes(type)));
  const named = name === undefined ? wanting : wanting.filter((handler) => handler.name === name);
  const [handler] = named;
  if (handler && named.length === 1) return handler;
  const names = wanting.map((one) => one.name).join(", ");
  throw new Refused(
    names === "" ? "no handler wants this event." : `name one of its handlers with --handler: ${names}.`,
    EXIT.usage,
  );
}

async function runDry(
  handler: Handler,
  body: Uint8Array,
  { services, api }: Means,
  terminal: Terminal,
): Promise<Result> {
  const environment = process.env;
  const bench = await createHandlerBench(handler, { services, ...(api ? { api } : {}), environment });
  try {
    const event = eventSchema.parse(JSON.parse(Buffer.from(body).toString("utf8")));
    const result = await bench.run(event);
    for (const line of bench.logs) terminal.say(JSON.stringify(line));
    return result;
  } finally {
    await bench.close();
  }
}

/** What became of the job; undefined where it is done already. */
async function runForGood(
  means: Means & Pick<InboxContext, "engine" | "config">,
  handler: Handler,
  event: InboxEvent,
  terminal: Terminal,
): Promise<Result | undefined> {
  const { engine, config } = means;
  const before = event.jobs.find((job) => job.handler === handler.name);
  if (before?.state === "done") return undefined;
  const attemptsBefore = before?.state === "pending" ? before.attempts : 0;
  const ended = Promise.withResolvers<Result>();
  const stuck: FailedJob[] = [];
  const secrets = secretsOf(config);
  const destination = { write: (line: string) => terminal.say(line.trimEnd()) };
  const loop = await startLoop({
    ...means,
    defaults: config,
    clock: systemClock,
    log: createLog({ level: config.logLevel, secrets, destination }),
    secrets,
    only: { handler: handler.name, id: event.id },
    onHandled: ended.resolve,
    onStuck: (job) => {
      stuck.push(job);
      ended.resolve({ outcome: "failed", attempt: attemptsBefore + 1, error: job.error });
    },
  });
  const stop = new AbortController();
  try {
    // Only now: a handler that is new has been made known by the loop.
    if (before?.state !== "pending" && before?.state !== "claimed")
      await engine.ledger.requeue([event.id], handler.name);
    return await Promise.race([ended.promise, elsewhere(stop.signal)]);
  } finally {
    stop.abort();
    await loop.drain(0, stuck);
  }

  /**
   * What became of the job without an attempt here: a receiver that runs was faster, or its key could not be told.
   * Undefined where there is nothing to be done.
   */
  async function elsewhere(signal: AbortSignal): Promise<Result | undefined> {
    for (let look = 1; ; look += 1) {
      await systemClock.sleep(LOOK_MS, signal);
      if (signal.aborted) return undefined;
      const now = await engine.ledger.find(event.id);
      const job = now?.jobs.find((one) => one.handler === handler.name);
      // Done by a version that had no jobs.
      if (now?.state === "done" && !job) return undefined;
      if (look === LOOKS_BEFORE_NOTICE)
        terminal.say("It runs, or waits for an event with the same key that is before it …");
      if (!job || job.state === "claimed") continue;
      const { state, attempts: attempt, lastError } = job;
      if (state === "pending" && attempt <= attemptsBefore) continue;
      const outcome = state === "pending" ? "failed" : state;
      return { outcome, attempt, ...(lastError === null ? {} : { error: lastError }) };
    }
  }
}

function waitForDebugger(given: string | true, terminal: Terminal): void {
  const address = given === true ? INSPECT_ADDRESS : given;
  const [, host = "127.0.0.1", port] = /^(?:([\w.-]+):)?(\d{1,5})$/.exec(address) ?? [];
  if (port === undefined)
    throw new Refused(
      `--inspect takes a port or HOST:PORT, such as ${INSPECT_ADDRESS}, not ${address}.`,
      EXIT.usage,
    );
  inspector.open(Number(port), host);
  terminal.say(`Waiting for a debugger at ${host}:${port} …`);
  inspector.waitForDebugger();
}

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { openSqliteStore } from "../../../receiver/store/sqlite.ts";
import type { Ending, NewEvent, Store } from "../../../receiver/store/port.ts";
import { newEventId } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

export type Inbox = Store & {
  file: string;
  /** Stores an event and has the attempt of `handler` end so; returns its id. */
  handled: (ending: Ending, event?: Partial<NewEvent> & { handler?: string }) => Promise<string>;
  /** Stores an event that waits. */
  stored: (event?: Partial<NewEvent>) => Promise<string>;
};

/** An inbox with a worker for these handlers, by name and type. */
export async function openInbox(
  handlers: Readonly<Record<string, string>> = { "log-call": "call.completed", kitchen: "order.created" },
  clock: Clock = systemClock,
  file = join(temporaryDirectory(), "receiver.db"),
): Promise<Inbox> {
  const onFatal = (problem: string): never => {
    throw new Error(problem);
  };
  const store = await openSqliteStore({ file, clock, isWorker: true, onFatal });
  onTestFinished(async () => store.close().catch(() => undefined));
  const jobs = Object.entries(handlers).map(([name, type]) => ({
    name,
    types: [type],
    key: [],
    migrations: [],
    maximumAttempts: 3,
    backoffMs: () => 60_000,
  }));
  await store.jobs.begin(jobs, AbortSignal.timeout(60_000));

  const stored = async (overrides: Partial<NewEvent> = {}): Promise<string> => {
    const { id = newEventId(), type = "call.completed" } = overrides;
    const envelope = overrides.envelope ?? { id, type, data: { object: { id: `call_${id.slice(4, 20)}` } } };
    const body = Buffer.from(JSON.stringify(envelope));
    const event = { id, type, objectId: null, source: "webhook", body, envelope } as const;
    const accepted = await store.intake.accept([{ ...event, ...overrides }]);
    if (!accepted.ok) throw new Error(accepted.detail);
    return id;
  };
  const handled: Inbox["handled"] = async (ending, { handler = "log-call", ...event } = {}) => {
    const id = await stored(event);
    const [job] = await store.jobs.claim(handler, 1);
    if (job?.id !== id) throw new Error(`Another job was due: ${String(job?.id)}`);
    await store.jobs.end(job, ending);
    return id;
  };
  return { ...store, file, stored, handled };
}

export const dead = (error: string): Ending => ({ kind: "dead", error });

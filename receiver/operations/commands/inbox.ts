import { once } from "node:events";
import { lstatSync, rmSync } from "node:fs";
import { systemClock } from "../../clock.ts";
import type { EventFilter, Ledger } from "../../store/port.ts";
import { inSnakeCase, presentEvent, redactEnvelope, shownType } from "../present.ts";
import { retentionOf } from "../../work/worker.ts";
import { act, pagesOf } from "../selection.ts";
import { EXIT, Refused, type Outcome, type OnStore } from "./run.ts";

/** `since`: only events received within this many seconds. */
type Chosen = EventFilter & { since?: number | undefined };

/** Lists the newest events, one per line. */
export async function listInbox(
  { store }: OnStore,
  { limit, ...filter }: EventFilter & { limit: number },
): Promise<Outcome> {
  const events = await store.ledger.list(filter, { limit });
  const lines = events.map(({ id, type, receivedAtMs, ...event }) => {
    const { state, attempts, lastError } = event.jobs.find((job) => job.handler === filter.handler) ?? event;
    const tries = attempts === 1 ? "1 attempt" : `${String(attempts)} attempts`;
    const [received, kind] = [new Date(receivedAtMs).toISOString(), shownType(type).padEnd(17)];
    return [state.padEnd(7), received, kind, id, tries, lastError ?? ""].join("  ").trimEnd();
  });
  const notes = events.length === 0 ? ["No event matches."] : [];
  return { json: { object: "list", data: events.map(presentEvent) }, lines, notes };
}

/** Shows everything about one event; with `body` also its envelope, byte for byte as received. */
export async function showEvent(
  { store: { ledger } }: OnStore,
  id: string,
  options: { body?: boolean },
): Promise<Outcome | undefined> {
  const event = await ledger.find(id);
  if (!event) throw new Refused(`${id} is not in this inbox. See \`inbox list\`, and check DATABASE_URL.`);
  const json = presentEvent(event);
  const body = options.body === true ? await ledger.body(event.seq) : undefined;
  if (!body) return { json, lines: JSON.stringify(json, null, 2).split("\n") };
  // Inserted as text: parsing would change numbers.
  process.stdout.write(`${JSON.stringify(json).slice(0, -1)},"envelope":${Buffer.from(body).toString()}}\n`);
  return undefined;
}

/**
 * Makes jobs of the named events, or of all events in a state, wait again. With `handler`, only its jobs. With `handler` and
 * `since`, the handler also gets jobs for the events since then that it wants and never had.
 */
export async function requeueEvents(
  { store: { ledger } }: OnStore,
  ids: readonly string[],
  { state, type, handler, since }: Chosen,
): Promise<Outcome> {
  const isNamed = ids.length > 0;
  if (isNamed && (state ?? type ?? since) !== undefined)
    throw new Refused("name the events, or select them by --state, --type and --since, but not both.");
  if (!isNamed && state === undefined && (handler === undefined || since === undefined))
    throw new Refused("name the events, or use --state dead|ignored, or --handler NAME --since 7d.");
  await checkHandler(ledger, handler);
  const chosen = { type, sinceMs: momentOf(since), ids: isNamed ? ids : undefined };
  let changed = 0;
  if (state !== undefined)
    for await (changed of act(ledger, { ...chosen, state, handler }, { kind: "requeue" }));
  else
    for await (const page of pagesOf(ledger, chosen))
      changed += await ledger.requeue(
        page.map(({ id }) => id),
        handler,
      );
  return changeOf("requeued", changed, isNamed ? ids.length - changed : 0);
}

/** Ends waiting and dead jobs of the named events as ignored, with the reason. */
export async function discardEvents(
  { store: { ledger } }: OnStore,
  ids: readonly string[],
  { handler, reason }: { handler: string; reason: string },
): Promise<Outcome> {
  await checkHandler(ledger, handler);
  let changed = 0;
  for await (changed of act(ledger, { ids, handler }, { kind: "discard", reason }));
  return changeOf("discarded", changed, ids.length - changed);
}

async function checkHandler(ledger: Ledger, handler: string | undefined): Promise<void> {
  const names = (await ledger.handlers()).map(({ name }) => name);
  if (handler !== undefined && !names.includes(handler))
    throw new Refused(`no handler is called ${handler}. Handlers: ${names.join(", ") || "none yet"}.`);
}

function changeOf(verb: "requeued" | "discarded", changed: number, left: number): Outcome {
  const lack = verb === "requeued" ? "dead or ignored job, or wanted by no handler" : "waiting or dead job";
  return {
    exitCode: left > 0 ? EXIT.somethingIsWrong : EXIT.ok,
    json: { [verb]: changed, left },
    lines: [`${String(changed)} ${verb}.`],
    notes: left > 0 ? [`${String(left)} unchanged: not in this inbox, or without a ${lack}.`] : [],
  };
}

/**
 * Writes envelopes as JSON Lines, oldest first, for the simulator's `replay`. They are redacted, or with
 * `includePersonalData` as received except for line breaks between values. Pruned events are left out.
 */
export async function exportEvents(
  { store: { ledger } }: OnStore,
  { since, includePersonalData = false, ...filter }: Chosen & { includePersonalData?: boolean },
): Promise<undefined> {
  for await (const page of pagesOf(ledger, { ...filter, sinceMs: momentOf(since) }))
    for (const { seq } of page) {
      const text = Buffer.from((await ledger.body(seq)) ?? []).toString();
      if (text === "") continue;
      const line = includePersonalData
        ? text.replaceAll(/[\r\n]+/g, " ")
        : JSON.stringify(redactEnvelope(text));
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
    }
}

function momentOf(since: number | undefined): number {
  return since === undefined ? 0 : systemClock.nowMs() - since * 1_000;
}

/** Prunes now what retention would prune within the hour. */
export async function pruneInbox({ store, config }: OnStore): Promise<Outcome> {
  const { retentionDays, idRetentionDays } = config;
  const pruned = await store.ledger.prune(retentionOf(config, systemClock.nowMs()));
  const bodies = `${String(pruned.bodies)} events older than ${String(retentionDays)} days`;
  const ids = `${String(pruned.ids)} ids older than ${String(idRetentionDays)} days`;
  return { json: pruned, lines: [`Pruned ${bodies} and ${ids}.`] };
}

/** Counts the jobs of each handler by state, and the dead ones by cause. */
export async function inboxStatistics({ store }: OnStore): Promise<Outcome> {
  const counts = await store.ledger.counts();
  const handlers = counts.handlers.map(({ handler, oldestUnfinishedAtMs: oldest, ...states }) => {
    const jobs = Object.entries(states).flatMap(([state, number]) =>
      number > 0 ? `${String(number)} ${state}` : [],
    );
    if (oldest !== null) jobs.push(`the oldest since ${new Date(oldest).toISOString()}`);
    return `${handler}: ${jobs.join(", ") || "nothing waits"}`;
  });
  const causes = counts.causes.map((one) => `${String(one.dead)} dead of ${one.handler}: ${one.cause}`);
  const known = `${String(counts.events)} events are known; no handler wanted ${String(counts.unwanted)} of them.`;
  return { json: inSnakeCase(counts), lines: [...handlers, ...causes, known] };
}

/** Copies the database to a new file while it is in use. */
export async function backup({ store: { ledger } }: OnStore, file: string): Promise<Outcome> {
  if (!ledger.backup)
    throw new Refused("use PostgreSQL's own tools: pg_basebackup, pg_dump, or your provider's.");
  // SQLite would overwrite an empty file.
  if (file === "" || lstatSync(file, { throwIfNoEntry: false }))
    throw new Refused(`"${file}" exists or cannot be used. Name a new file.`);
  // The copy is private from the first byte.
  process.umask(0o077);
  await ledger.backup(file).catch((error: unknown) => {
    // A part could be taken for a backup, and may be what has filled the disk.
    rmSync(file, { force: true });
    throw new Refused(`${file} could not be written: ${String(error)}`, EXIT.couldNotRun);
  });
  return { json: { file }, lines: [file] };
}

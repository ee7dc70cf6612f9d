import type { Engine, EventFilter, EventState, InboxEvent, InboxJob } from "../../engine.ts";
import { PAGE, pagesOf } from "../pages.ts";
import { inSnakeCase, presentEvent, roughly } from "../present.ts";
import { redactEnvelope, shownType } from "../privacy.ts";
import { momentAgo } from "./arguments.ts";
import { EXIT, Refused, type Colour } from "./terminal.ts";
import type { InboxContext } from "./with-engine.ts";

const DAY_MS = 86_400_000;

type OnInbox = Pick<InboxContext, "engine" | "terminal">;

export type ShowOptions = { body?: boolean; json?: boolean };
export type ListOptions = EventFilter & { limit: number; json?: boolean };
/** With `since` only events received in so many seconds. */
export type ExportOptions = EventFilter & { since?: number | undefined; includePersonalData?: boolean };

/** The newest events, one line each. */
export async function listInbox({ engine, terminal }: OnInbox, options: ListOptions): Promise<number> {
  const events = await engine.ledger.list(options, { limit: options.limit });
  if (options.json === true) {
    terminal.value({ object: "list", data: events.map(presentEvent) });
    return 0;
  }
  for (const event of events) {
    const { state } = meant(event, options.handler);
    terminal.print(line(event, options.handler), { word: state.padEnd(8), colour: COLOURS[state] });
  }
  if (events.length === 0) terminal.say("No event matches.");
  else if (events.length === options.limit) terminal.say("There may be more: --limit shows them.");
  return 0;
}

/** All that is known of one event, with its envelope when `body` is set. */
export async function showEvent(
  { engine, terminal }: OnInbox,
  id: string,
  options: ShowOptions,
): Promise<number> {
  const event = await engine.ledger.find(id);
  if (!event)
    throw new Refused(
      `${id} is not in this inbox. See \`inbox list\`, and DATABASE_URL if it should be.`,
      EXIT.usage,
    );
  const body = options.body === true ? await engine.ledger.body(event.seq) : undefined;
  const shown = { ...presentEvent(event), ...(body ? { envelope: parse(body) } : {}) };
  terminal.value(shown, { indented: options.json !== true, whole: body !== undefined });
  if (event.state === "dead") terminal.say(`Once its cause is mended: inbox requeue ${id}`);
  return 0;
}

/** Which events to requeue: with `since` those received in so many seconds. */
export type RequeueOptions = EventFilter & { since?: number | undefined; json?: boolean };

/**
 * Makes jobs wait again: of the events named, or of all in a state. With `handler` only its own; with `since` as well it
 * gets what it wants of the events since then, also of those that came before there was such a handler.
 */
export async function requeueEvents(
  { engine, terminal }: OnInbox,
  ids: readonly string[],
  options: RequeueOptions,
): Promise<number> {
  const mistake = await mistakeIn(engine, ids, options);
  if (mistake !== undefined) throw new Refused(mistake, EXIT.usage);
  const { chosen, requeued } =
    ids.length > 0 ? await requeueThese(engine, ids, options.handler) : await requeueAll(engine, options);
  const left = chosen - requeued;
  if (options.json === true) terminal.value({ requeued, left });
  else terminal.print(`${String(requeued)} requeued.`);
  const isLeft = left > 0 && (ids.length > 0 || options.state !== undefined);
  if (isLeft && options.json !== true) {
    const whose = options.handler === undefined ? "" : ` of ${options.handler}`;
    terminal.say(
      `${String(left)} left as they are: only dead and ignored jobs${whose} can be requeued, of events that are not pruned.`,
    );
  }
  return ids.length > 0 && left > 0 ? 1 : 0;
}

async function mistakeIn(
  engine: Engine,
  ids: readonly string[],
  { state, type, handler, since }: RequeueOptions,
): Promise<string | undefined> {
  if (handler !== undefined) {
    const names = (await engine.ledger.handlers()).map(({ name }) => name);
    if (!names.includes(handler)) {
      return `no handler is called ${handler}. There are: ${names.join(", ") || "none yet, for no worker has started"}.`;
    }
  }
  if (ids.length > 0 && (state ?? type ?? since) !== undefined)
    return "name the events, or choose them by --state, --type and --since: not both.";
  if (ids.length > 0 || state !== undefined || (handler !== undefined && since !== undefined))
    return undefined;
  return "name the events to requeue, or choose them: --state dead, --state ignored, or --handler NAME --since 7d.";
}

/**
 * Writes envelopes as JSON Lines, oldest first, as the simulator's `replay` reads them. Without phone numbers and texts
 * unless they are asked for; as pruned events have no envelope any more, they are left out.
 */
export async function exportEvents({ engine, terminal }: OnInbox, options: ExportOptions): Promise<number> {
  const whole = options.includePersonalData === true;
  const sinceMs = momentAgo(options.since);
  for await (const page of pagesOf(engine.ledger, options, "oldest first")) {
    for (const event of page.filter(({ receivedAtMs }) => receivedAtMs >= sinceMs)) {
      const body = await engine.ledger.body(event.seq);
      if (!body) continue;
      const envelope = parse(body);
      terminal.value(whole ? envelope : redactEnvelope(envelope), { whole });
    }
  }
  return 0;
}

/** Prunes now what retention would prune within the hour. */
export async function pruneInbox(
  { engine, config, terminal }: InboxContext,
  options: { json?: boolean },
): Promise<number> {
  const pruned = await engine.ledger.prune({
    bodiesOlderThanMs: config.retentionDays * DAY_MS,
    idsOlderThanMs: config.idRetentionDays * DAY_MS,
  });
  if (options.json === true) terminal.value(pruned);
  else {
    terminal.print(
      `${String(pruned.bodies)} events older than ${String(config.retentionDays)} days and ${String(pruned.ids)} ids older than ${String(config.idRetentionDays)} days pruned.`,
    );
  }
  return 0;
}

/** How many events there are in each state, and how long the oldest unfinished one has been waiting. */
export async function inboxStatistics(
  { engine, terminal }: OnInbox,
  options: { json?: boolean },
): Promise<number> {
  const counts = await engine.ledger.counts();
  const { byState, byHandler, isEstimate, oldestUnfinishedAgeMs } = counts;
  const ageSeconds = oldestUnfinishedAgeMs === null ? null : oldestUnfinishedAgeMs / 1_000;
  if (options.json === true) {
    terminal.value(inSnakeCase({ byState, byHandler, isEstimate, oldestUnfinishedAgeSeconds: ageSeconds }));
    return 0;
  }
  for (const [state, events] of Object.entries(byState))
    terminal.print(`${state.padEnd(8)} ${roughly(counts, state)}${String(events)}`);
  for (const { handler, ...jobs } of byHandler) {
    const some = Object.entries(jobs).flatMap(([state, count]) =>
      count > 0 ? `${roughly(counts, state)}${String(count)} ${state}` : [],
    );
    if (some.length > 0) terminal.print(`${handler}: ${some.join(", ")}`);
  }
  if (ageSeconds !== null)
    terminal.print(`The oldest unfinished event came ${String(Math.round(ageSeconds))} s ago.`);
  return 0;
}

type Requeued = { chosen: number; requeued: number };

async function requeueThese({ ledger }: Engine, ids: readonly string[], handler?: string): Promise<Requeued> {
  let requeued = 0;
  for (let from = 0; from < ids.length; from += PAGE)
    requeued += await ledger.requeue(ids.slice(from, from + PAGE), handler);
  return { chosen: ids.length, requeued };
}

async function requeueAll(engine: Engine, options: RequeueOptions): Promise<Requeued> {
  const { state, type, handler } = options;
  const sinceMs = momentAgo(options.since);
  const total = { chosen: 0, requeued: 0 };
  // Without a state also those that have no job of the handler yet.
  const filter = state === undefined ? { type } : { state, type, handler };
  for await (const page of pagesOf(engine.ledger, filter, "oldest first")) {
    const ids = page.filter(({ receivedAtMs }) => receivedAtMs >= sinceMs).map(({ id }) => id);
    total.chosen += ids.length;
    total.requeued += await engine.ledger.requeue(ids, handler);
  }
  return total;
}

const COLOURS: Record<EventState, Colour> = {
  done: "green",
  dead: "red",
  pending: "yellow",
  claimed: "cyan",
  ignored: "gray",
  pruned: "gray",
};

/** The job of `handler`, or else the event. */
function meant(event: InboxEvent, handler: string | undefined): InboxEvent | InboxJob {
  return event.jobs.find((job) => job.handler === handler) ?? event;
}

function line(event: InboxEvent, handler: string | undefined): string {
  const received = new Date(event.receivedAtMs).toISOString();
  const { attempts: made, lastError } = meant(event, handler);
  const attempts = made === 1 ? "1 attempt" : `${String(made)} attempts`;
  const error = lastError === null ? "" : `  ${lastError}`;
  const type = event.type === null ? "" : shownType(event.type);
  return `${received}  ${type.padEnd(17)}  ${event.id}  ${attempts}${error}`;
}

function parse(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body).toString("utf8"));
}

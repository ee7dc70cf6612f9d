import { styleText } from "node:util";
import { presentEvent } from "../admin.ts";
import type { Config } from "../../config.ts";
import type { Engine, EventFilter, EventState, InboxEvent } from "../../engine.ts";
import { redactEnvelope } from "../privacy.ts";
import type { Terminal } from "./terminal.ts";

const DAY_MS = 86_400_000;
const PAGE = 500;

export type ListOptions = { state?: EventState; type?: string; limit: number; json?: boolean };
export type ExportOptions = {
  state?: EventState;
  type?: string;
  sinceMs?: number;
  includePersonalData?: boolean;
};

/** The newest events, one line each. */
export async function listInbox(engine: Engine, options: ListOptions, terminal: Terminal): Promise<number> {
  const events = await engine.list(filterOf(options), { limit: options.limit });
  if (options.json === true) {
    terminal.print(JSON.stringify({ object: "list", data: events.map(presentEvent) }));
    return 0;
  }
  for (const event of events) terminal.print(line(event));
  if (events.length === 0) terminal.say("No event matches.");
  else if (events.length === options.limit) terminal.say("There may be more: --limit shows them.");
  return 0;
}

/** All that is known of one event, with its envelope when `body` is set. */
export async function showEvent(
  engine: Engine,
  id: string,
  options: { body?: boolean; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const event = await engine.find(id);
  if (!event) {
    terminal.complain(`${id} is not in this inbox. See \`inbox list\`, and DATABASE_URL if it should be.`);
    return 1;
  }
  const body = options.body === true ? await engine.body(event.seq) : undefined;
  const shown = { ...presentEvent(event), ...(body ? { envelope: parse(body) } : {}) };
  terminal.print(options.json === true ? JSON.stringify(shown) : JSON.stringify(shown, null, 2));
  if (event.state === "dead") terminal.say(`Once its cause is mended: inbox requeue ${id}`);
  return 0;
}

/** Makes events pending again: those named, or all dead (or ignored) ones. */
export async function requeueEvents(
  engine: Engine,
  ids: readonly string[],
  options: { state?: EventState; type?: string; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  if (ids.length === 0 && options.state === undefined) {
    terminal.complain("name the events to requeue, or choose them with --state dead or --state ignored.");
    return 2;
  }
  const chosen = ids.length > 0 ? ids : (await collect(engine, filterOf(options))).map(({ id }) => id);
  const requeued = await engine.requeue(chosen);
  const left = chosen.length - requeued;
  if (options.json === true) terminal.print(JSON.stringify({ requeued, left }));
  else terminal.print(`${String(requeued)} requeued.`);
  if (left > 0 && options.json !== true) {
    terminal.say(
      `${String(left)} left as they are: only dead and ignored events that are not pruned can be requeued.`,
    );
  }
  return ids.length > 0 && left > 0 ? 1 : 0;
}

/**
 * Writes envelopes as JSON Lines, oldest first, as the simulator's `replay` reads them. Without phone numbers and texts
 * unless they are asked for; as pruned events have no envelope any more, they are left out.
 */
export async function exportEvents(
  engine: Engine,
  options: ExportOptions,
  terminal: Terminal,
): Promise<number> {
  const events = (await collect(engine, filterOf(options)))
    .filter(({ receivedAtMs }) => receivedAtMs >= (options.sinceMs ?? 0))
    .toReversed();
  for (const { seq } of events) {
    const body = await engine.body(seq);
    if (!body) continue;
    const envelope = parse(body);
    terminal.print(
      JSON.stringify(options.includePersonalData === true ? envelope : redactEnvelope(envelope)),
    );
  }
  return 0;
}

/** Prunes now what retention would prune within the hour. */
export async function pruneInbox(
  engine: Engine,
  config: Config,
  options: { nowMs: number; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const pruned = await engine.prune({
    bodiesBeforeMs: options.nowMs - config.retentionDays * DAY_MS,
    idsBeforeMs: options.nowMs - config.idRetentionDays * DAY_MS,
  });
  terminal.print(
    options.json === true
      ? JSON.stringify(pruned)
      : `${String(pruned.bodies)} events older than ${String(config.retentionDays)} days and ${String(pruned.ids)} ids older than ${String(config.idRetentionDays)} days pruned.`,
  );
  return 0;
}

/** How many events there are in each state, and how long the oldest unfinished one has been waiting. */
export async function inboxStatistics(
  engine: Engine,
  options: { nowMs: number; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { byState, oldestUnfinishedAtMs } = await engine.counts();
  const ageSeconds =
    oldestUnfinishedAtMs === null ? null : Math.max(0, options.nowMs - oldestUnfinishedAtMs) / 1_000;
  if (options.json === true) {
    terminal.print(JSON.stringify({ by_state: byState, oldest_unfinished_age_seconds: ageSeconds }));
    return 0;
  }
  for (const [state, events] of Object.entries(byState))
    terminal.print(`${state.padEnd(8)} ${String(events)}`);
  if (ageSeconds !== null)
    terminal.print(`The oldest unfinished event came ${String(Math.round(ageSeconds))} s ago.`);
  return 0;
}

function filterOf({ state, type }: { state?: EventState; type?: string }): EventFilter {
  return { ...(state === undefined ? {} : { state }), ...(type === undefined ? {} : { type }) };
}

async function collect(engine: Engine, filter: EventFilter): Promise<InboxEvent[]> {
  const events: InboxEvent[] = [];
  for (;;) {
    const last = events.at(-1);
    const page = await engine.list(filter, { limit: PAGE, ...(last ? { beforeSeq: last.seq } : {}) });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

const COLOURS = {
  done: "green",
  dead: "red",
  pending: "yellow",
  claimed: "cyan",
  ignored: "gray",
  pruned: "gray",
} as const;

function line(event: InboxEvent): string {
  const state = styleText(COLOURS[event.state], event.state.padEnd(8), { stream: process.stdout });
  const received = new Date(event.receivedAtMs).toISOString();
  const attempts = event.attempts === 1 ? "1 attempt" : `${String(event.attempts)} attempts`;
  const error = event.lastError === null ? "" : `  ${event.lastError}`;
  return `${received}  ${state}  ${(event.type ?? "").padEnd(17)}  ${event.id}  ${attempts}${error}`;
}

function parse(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body).toString("utf8"));
}

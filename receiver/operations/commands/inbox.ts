import { once } from "node:events";
import { systemClock } from "../../clock.ts";
import type { EventFilter, InboxEvent, Ledger } from "../../store/port.ts";
import { inSnakeCase, presentEvent } from "../present.ts";
import { piecesOf, shownType } from "../privacy.ts";
import { pagesOf } from "../selection.ts";
import { EXIT, Refused, type Outcome, type OnStore } from "./run.ts";

const PAGE = 500;
const DAY_MS = 86_400_000;

/** With `since` only events received in the last so many seconds. */
export type Chosen = EventFilter & { since?: number | undefined };

type Shown = Outcome | undefined;

/** The newest events, one line each. */
export async function listInbox(
  { store }: OnStore,
  options: EventFilter & { limit: number },
): Promise<Outcome> {
  const events = await store.ledger.list(options, { limit: options.limit });
  const note = events.length === 0 ? "No event matches." : "There may be more: --limit shows them.";
  return {
    json: { object: "list", data: events.map((event) => presentEvent(event, { isBrief: true })) },
    lines: events.map((event) => lineOf(event, options.handler)),
    notes: events.length === 0 || events.length === options.limit ? [note] : [],
  };
}

/** All that is known of one event; with `body` its envelope too, byte for byte as it came. */
export async function showEvent({ store }: OnStore, id: string, options: { body?: boolean }): Promise<Shown> {
  const event = await store.ledger.find(id);
  if (!event) throw new Refused(`${id} is not in this inbox. See \`inbox list\`, and check DATABASE_URL.`);
  const shown = presentEvent(event, { isBrief: false });
  const body = options.body === true ? await store.ledger.body(event.seq) : undefined;
  if (!body) return { json: shown, lines: JSON.stringify(shown, null, 2).split("\n") };
  // As text: parsing would change numbers.
  const envelope = Buffer.from(body).toString("utf8");
  process.stdout.write(`${JSON.stringify(shown).slice(0, -1)},"envelope":${envelope}}\n`);
  return undefined;
}

/**
 * Makes jobs wait again: of the events named, or of all in a state. With `handler` only its own; with `since` as well it
 * gets what it wants of the events since then, also of those that came before there was such a handler.
 */
export async function requeueEvents(
  { store: { ledger } }: OnStore,
  ids: readonly string[],
  { state, type, handler, since }: Chosen,
): Promise<Outcome> {
  if (ids.length > 0 && (state ?? type ?? since) !== undefined)
    throw new Refused("name the events, or choose them by --state, --type and --since: not both.");
  if (ids.length === 0 && state === undefined && (handler === undefined || since === undefined))
    throw new Refused("name the events, or choose them: --state dead|ignored, or --handler NAME --since 7d.");
  // Without a state also those that have no job of the handler yet.
  const filter = state === undefined ? { type } : { state, type, handler };
  const pages = ids.length > 0 ? inPages(ids) : idsSince(ledger, filter, since);
  const requeue = async (page: string[]): Promise<number> => ledger.requeue(page, handler);
  const { asked, changed } = await change(ledger, pages, handler, requeue);
  const isNamed = ids.length > 0;
  return outcome("requeued", changed, isNamed || state !== undefined ? asked - changed : 0, isNamed);
}

/** Ends waiting and dead jobs of the events named as ignored, with the reason. */
export async function discardEvents(
  { store: { ledger } }: OnStore,
  ids: readonly string[],
  options: { handler: string; reason: string },
): Promise<Outcome> {
  const discard = async (page: string[]): Promise<number> => ledger.discard(page, options);
  const { asked, changed } = await change(ledger, inPages(ids), options.handler, discard);
  return outcome("discarded", changed, asked - changed, true);
}

async function change(
  ledger: Ledger,
  pages: Iterable<string[]> | AsyncIterable<string[]>,
  handler: string | undefined,
  changePage: (page: string[]) => Promise<number>,
): Promise<{ asked: number; changed: number }> {
  const names = (await ledger.handlers()).map(({ name }) => name);
  if (handler !== undefined && !names.includes(handler))
    throw new Refused(`no handler is called ${handler}. There are: ${names.join(", ") || "none yet"}.`);
  const total = { asked: 0, changed: 0 };
  for await (const page of pages) {
    total.asked += page.length;
    total.changed += await changePage(page);
  }
  return total;
}

function outcome(verb: "requeued" | "discarded", changed: number, left: number, isNamed: boolean): Outcome {
  const states = verb === "requeued" ? "dead and ignored" : "waiting and dead";
  return {
    exitCode: isNamed && left > 0 ? EXIT.somethingIsWrong : EXIT.ok,
    json: { [verb]: changed, left },
    lines: [`${String(changed)} ${verb}.`],
    notes: left > 0 ? [`${String(left)} left as they are: only ${states} jobs can be ${verb}.`] : [],
  };
}

/**
 * Writes envelopes as JSON Lines, oldest first, for the simulator's `replay`: without what may be about a person, or byte
 * for byte as they came except for line breaks between values. Pruned events are left out.
 */
export async function exportEvents(
  { store: { ledger } }: OnStore,
  { since, includePersonalData = false, ...filter }: Chosen & { includePersonalData?: boolean },
): Promise<undefined> {
  const sinceMs = momentOf(since);
  for await (const page of pagesOf(ledger, filter)) {
    for (const { seq } of page.filter(({ receivedAtMs }) => receivedAtMs >= sinceMs)) {
      const text = Buffer.from((await ledger.body(seq)) ?? []).toString("utf8");
      const line = includePersonalData ? text : [...piecesOf(text, { hides: true })].join("");
      if (text !== "" && !process.stdout.write(`${line.replaceAll(/[\r\n]+/g, " ")}\n`))
        await once(process.stdout, "drain");
    }
  }
}

/** Prunes now what retention would prune within the hour. */
export async function pruneInbox({ store, config }: OnStore): Promise<Outcome> {
  const { retentionDays, idRetentionDays } = config;
  const before = (days: number): number => systemClock.nowMs() - days * DAY_MS;
  const pruned = await store.ledger.prune({
    bodiesMs: before(retentionDays),
    idsMs: before(idRetentionDays),
  });
  const bodies = `${String(pruned.bodies)} events older than ${String(retentionDays)} days`;
  const ids = `${String(pruned.ids)} ids older than ${String(idRetentionDays)} days`;
  return { json: pruned, lines: [`Pruned ${bodies} and ${ids}.`] };
}

/** How many jobs each handler has in each state, and what is dead, by cause. */
export async function inboxStatistics({ store }: OnStore): Promise<Outcome> {
  const counts = await store.ledger.counts();
  const handlers = counts.handlers.map(({ handler, oldestUnfinishedAtMs: oldest, ...states }) => {
    const some = Object.entries(states).flatMap(([name, jobs]) =>
      jobs > 0 ? `${String(jobs)} ${name}` : [],
    );
    if (oldest !== null) some.push(`the oldest since ${new Date(oldest).toISOString()}`);
    return `${handler}: ${some.join(", ") || "nothing waits"}`;
  });
  const causes = counts.causes.map(
    ({ handler, cause, dead }) => `${String(dead)} dead of ${handler}: ${cause}`,
  );
  const events = `${String(counts.events)} events are known; no handler wanted ${String(counts.unwanted)} of them.`;
  return { json: inSnakeCase(counts), lines: [...handlers, ...causes, events] };
}

function* inPages(ids: readonly string[]): Generator<string[]> {
  for (let from = 0; from < ids.length; from += PAGE) yield ids.slice(from, from + PAGE);
}

async function* idsSince(
  ledger: Ledger,
  filter: EventFilter,
  since: number | undefined,
): AsyncGenerator<string[]> {
  const sinceMs = momentOf(since);
  for await (const page of pagesOf(ledger, filter))
    yield page.filter(({ receivedAtMs }) => receivedAtMs >= sinceMs).map(({ id }) => id);
}

function momentOf(since: number | undefined): number {
  return since === undefined ? 0 : systemClock.nowMs() - since * 1_000;
}

function lineOf(event: InboxEvent, handler: string | undefined): string {
  const { state, attempts, lastError } = event.jobs.find((job) => job.handler === handler) ?? event;
  const tries = attempts === 1 ? "1 attempt" : `${String(attempts)} attempts`;
  const received = new Date(event.receivedAtMs).toISOString();
  const type = event.type === null ? "" : shownType(event.type);
  return [state.padEnd(7), received, type.padEnd(17), event.id, tries, lastError ?? ""].join("  ").trimEnd();
}

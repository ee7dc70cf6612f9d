import { createHash } from "node:crypto";
import { z } from "zod";
import type { Envelope, EventType } from "../../shared/events.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import type { Clock } from "../clock.ts";
import type { Engine, NewEvent } from "../engine.ts";
import { parseEnvelope } from "../intake/envelope.ts";
import { RestError, type RestClient } from "./rest-client.ts";

/** Objects that are looked up and enqueued together, and the pause after each such batch. */
const BATCH = 100;
const PAUSE_MS = 200;

/** What the two lists of the REST API bring, and how far each was walked by a run that did not finish. */
const LISTS = ["calls", "voicemails"] as const;
type ListName = (typeof LISTS)[number];

export type Healed = { id: string; type: EventType; objectId: string; createdAt: string };

export type ReconcileReport = {
  finished: boolean;
  dryRun: boolean;
  /** How far back it looked: as asked, unless pruning has gone further. */
  since: string;
  /** Set where pruning made it look back less far than was asked. */
  prunedBefore: string | null;
  /** Why it did not finish; running it again continues there. */
  problem?: string;
  objectsRead: number;
  /** Events that nobody had brought: enqueued now, or would be without `dryRun`. */
  healed: Healed[];
  alreadyThere: number;
  /** What no reading of the API can bring back, and what to do about it. */
  cannotBeHealed: { type: EventType; reason: string; whatToDo: string }[];
};

/**
 * Reads the calls and voicemails since `sinceMs` from the REST API and enqueues the events that never arrived. A walk
 * that breaks off leaves a bookmark, and the next one goes on there, after it has read what is new. Bounded in rate.
 */
export async function reconcile(options: {
  engine: Pick<Engine, "intake" | "ledger">;
  api: RestClient;
  clock: Clock;
  sinceMs: number;
  dryRun: boolean;
  /** Of an event: what no webhook could have brought is not stored either. */
  maxBodyBytes: number;
  onProgress: (objectsRead: number) => void;
}): Promise<ReconcileReport> {
  const { engine, api, clock, dryRun } = options;
  // Of a pruned event nobody knows its object any more: it would look as if it had never come. What was pruned had come
  // before then by our clock, which was behind the service's by the tolerance of signatures at most.
  const prunedBeforeMs = await engine.ledger.prunedBeforeMs();
  const knownSinceMs = prunedBeforeMs === 0 ? 0 : prunedBeforeMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1_000;
  const sinceMs = Math.max(options.sinceMs, knownSinceMs);
  const unfit: Unfit[] = [];
  const report: ReconcileReport = {
    finished: false,
    dryRun,
    since: new Date(sinceMs).toISOString(),
    prunedBefore: knownSinceMs > options.sinceMs ? new Date(prunedBeforeMs).toISOString() : null,
    objectsRead: 0,
    healed: [],
    alreadyThere: 0,
    cannotBeHealed: [],
  };
  try {
    const organization = await api.me();
    for (const list of LISTS) await walk(list, organization.id);
    report.finished = true;
  } catch (error) {
    if (!(error instanceof RestError) && !(error instanceof StoreError)) throw error;
    report.problem = error.message;
  }
  report.cannotBeHealed = [...unhealable(report), ...unfitToStore(unfit)];
  return report;

  async function walk(list: ListName, organizationId: string): Promise<void> {
    const resumed = await readBookmark(list);
    let newestId: string | undefined;
    let batch: Resource[] = [];
    const settle = async (): Promise<void> => {
      const last = batch.at(-1);
      if (!last) return;
      await heal(batch, organizationId);
      report.objectsRead += batch.length;
      options.onProgress(report.objectsRead);
      batch = [];
      if (!dryRun) await writeBookmark(list, { newestId: newestId ?? last.id, lastId: last.id });
      await clock.sleep(PAUSE_MS);
    };

    for await (const item of itemsOf(list, resumed)) {
      if (Date.parse(item.created_at) < sinceMs) break;
      newestId ??= item.id;
      batch.push(item);
      if (batch.length === BATCH) await settle();
    }
    await settle();
    if (!dryRun) await engine.ledger.setBookmark(`reconcile ${list}`, undefined);
  }

  /** Newest first. Where an unfinished walk began, its part is passed over: that has been looked at. */
  async function* itemsOf(list: ListName, resumed: Bookmark | undefined): AsyncGenerator<Resource> {
    for await (const item of api[list]()) {
      if (item.id !== resumed?.newestId) {
        yield item;
        continue;
      }
      try {
        yield* api[list]({ startingAfter: resumed.lastId });
        return;
      } catch (error) {
        // The object that the bookmark names is gone: then everything is looked at once more, which harms nothing.
        if (!(error instanceof RestError && error.code === "invalid_cursor")) throw error;
        yield item;
      }
    }
  }

  async function heal(batch: readonly Resource[], organizationId: string): Promise<void> {
    const candidates = batch.flatMap((object) =>
      eventsOf(object).flatMap((type) => newEvent(object, type, organizationId)),
    );
    const missing: Candidate[] = [];
    for (const type of new Set(candidates.map((candidate) => candidate.healed.type))) {
      const ofType = candidates.filter(({ healed }) => healed.type === type);
      const known = await engine.ledger.known(
        type,
        ofType.map(({ healed }) => healed.objectId),
      );
      missing.push(...ofType.filter(({ healed }) => !known.has(healed.objectId)));
    }
    report.alreadyThere += candidates.length - missing.length;
    if (dryRun) {
      report.healed.push(...missing.map(({ healed }) => healed));
      return;
    }
    const result = await engine.intake.accept(missing.map(({ event }) => event));
    if (!result.ok) throw new StoreError(`The inbox takes no events (${result.reason}): ${result.detail}`);
    for (const [index, { healed }] of missing.entries()) {
      // It may have arrived since we asked.
      if (result.acceptances[index]?.duplicate === true) report.alreadyThere += 1;
      else report.healed.push(healed);
    }
  }

  function newEvent(object: Resource, type: EventType, organizationId: string): Candidate[] {
    const envelope: Envelope = {
      id: eventId(type, object.id),
      type,
      created: Math.floor(Date.parse(object.created_at) / 1_000),
      api_version: "v1",
      data: { object },
      org_id: organizationId,
    };
    const body = bodyOf(envelope);
    const parsed = body && body.byteLength <= options.maxBodyBytes ? parseEnvelope(body) : undefined;
    if (!body || parsed?.ok !== true || Number.isNaN(envelope.created)) {
      unfit.push({ type, objectId: object.id });
      return [];
    }
    const { id } = envelope;
    return [
      {
        event: { id, type, objectId: parsed.objectId, source: "reconcile", body },
        healed: { id, type, objectId: object.id, createdAt: object.created_at },
      },
    ];
  }

  async function readBookmark(list: ListName): Promise<Bookmark | undefined> {
    const value = await engine.ledger.bookmark(`reconcile ${list}`);
    return value === undefined ? undefined : bookmarkSchema.parse(JSON.parse(value));
  }

  async function writeBookmark(list: ListName, bookmark: Bookmark): Promise<void> {
    await engine.ledger.setBookmark(`reconcile ${list}`, JSON.stringify(bookmark));
  }
}

type Resource = { id: string; object: "call" | "voicemail"; created_at: string; transferred?: boolean };
type Candidate = { event: NewEvent; healed: Healed };
type Unfit = { type: EventType; objectId: string };

/** Everything from the newest object to the last one, both included, has been looked at. */
const bookmarkSchema = z.object({ newestId: z.string(), lastId: z.string() });
type Bookmark = z.infer<typeof bookmarkSchema>;

class StoreError extends Error {}

/** Which events the service emits for an object. A transfer has no resource of its own: the call says so. */
function eventsOf(object: Resource): EventType[] {
  if (object.object === "voicemail") return ["voicemail.created"];
  return object.transferred === true ? ["call.completed", "call.transferred"] : ["call.completed"];
}

/** Undefined where an object is nested so deeply that it cannot be written down. */
function bodyOf(envelope: Envelope): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(envelope));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The same object and type always get the same id, so that a second run enqueues nothing twice. */
function eventId(type: EventType, objectId: string): string {
  return `evt_${createHash("sha256").update(`reconcile ${type} ${objectId}`).digest("hex").slice(0, 32)}`;
}

function unhealable(report: ReconcileReport): ReconcileReport["cannotBeHealed"] {
  const times = report.healed.map(({ createdAt }) => createdAt).toSorted();
  const [first] = times;
  const last = times.at(-1);
  const when =
    first === undefined || last === undefined
      ? `since ${report.since}, should events have been lost then`
      : `around the gap from ${first} to ${last}`;
  return (["order.created", "booking.created"] as const).map((type) => ({
    type,
    reason: `The REST API has no path to read ${type === "order.created" ? "orders" : "bookings"}, so a lost event can neither be seen nor rebuilt.`,
    whatToDo: `In the service's dashboard, look for dead deliveries of ${type} ${when}, and have them sent again; they are recognised if they did arrive.`,
  }));
}

/** How many ids a line names. */
const NAMED = 3;

function unfitToStore(unfit: readonly Unfit[]): ReconcileReport["cannotBeHealed"] {
  return [...Map.groupBy(unfit, ({ type }) => type)].map(([type, objects]) => {
    const ids = objects.slice(0, NAMED).map(({ objectId }) => objectId);
    const more = objects.length > NAMED ? ", …" : "";
    return {
      type,
      reason: `${String(objects.length)} of the objects would make an event beyond MAX_BODY_BYTES, or one that no webhook could bring (${ids.join(", ")}${more}).`,
      whatToDo:
        "Look at them in the service's dashboard; if they are as they should be, raise MAX_BODY_BYTES.",
    };
  });
}

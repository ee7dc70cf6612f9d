import { createHash } from "node:crypto";
import { z } from "zod";
import type { Envelope, EventType } from "../../shared/events.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import type { Clock } from "../clock.ts";
import type { Engine, NewEvent } from "../engine.ts";
import { parseEnvelope } from "../intake/envelope.ts";
import { RestError, type RestClient } from "./rest-client.ts";
import { unfitToStore, unhealable, type Unfit, type Unhealable } from "./unhealable.ts";

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
  problem: string | null;
  objectsRead: number;
  /** Events that nobody had brought: enqueued now, or would be without `dryRun`. */
  healed: Healed[];
  alreadyThere: number;
  /** What no reading of the API can bring back, and what to do about it. */
  cannotBeHealed: Unhealable[];
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
  /** A larger event is not stored: no webhook could have brought it. */
  maxBodyBytes: number;
  /** Told after each batch: what would be answered if it ended there. */
  onProgress: (soFar: ReconcileReport) => void;
}): Promise<ReconcileReport> {
  const { engine, api, clock, dryRun } = options;
  const unfit: Unfit[] = [];
  const report: ReconcileReport = {
    finished: false,
    dryRun,
    since: "",
    prunedBefore: null,
    problem: null,
    objectsRead: 0,
    healed: [],
    alreadyThere: 0,
    cannotBeHealed: [],
  };
  let sinceMs = await findSince();
  try {
    const organization = await api.me();
    for (const list of LISTS) await walk(list, organization.id);
    report.finished = true;
  } catch (error) {
    if (!(error instanceof RestError) && !(error instanceof StoreError)) throw error;
    report.problem = error instanceof RestError ? error.explanation : error.message;
  }
  report.cannotBeHealed = [...unhealable(report), ...unfitToStore(unfit)];
  return report;

  /** The object of a pruned event is forgotten: the event would look as if it had never come. */
  async function findSince(): Promise<number> {
    const prunedBeforeMs = await engine.ledger.prunedBeforeMs();
    // By our clock, which was behind the service's by the tolerance of signatures at most when the event came.
    const knownSinceMs =
      prunedBeforeMs === 0 ? 0 : prunedBeforeMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1_000;
    if (knownSinceMs > options.sinceMs) report.prunedBefore = new Date(prunedBeforeMs).toISOString();
    const latestMs = Math.max(options.sinceMs, knownSinceMs);
    report.since = new Date(latestMs).toISOString();
    return latestMs;
  }

  async function walk(list: ListName, organizationId: string): Promise<void> {
    const bookmark = `reconcile ${list}`;
    const left = await engine.ledger.bookmark(bookmark);
    const resumed = left === undefined ? undefined : bookmarkSchema.parse(JSON.parse(left));
    let newestId: string | undefined;
    let batch: Resource[] = [];
    const settle = async (): Promise<void> => {
      const last = batch.at(-1);
      if (!last) return;
      await heal(batch, organizationId);
      report.objectsRead += batch.length;
      options.onProgress(report);
      batch = [];
      const place: Bookmark = { newestId: newestId ?? last.id, lastId: last.id };
      if (!dryRun) await engine.ledger.setBookmark(bookmark, JSON.stringify(place));
      await clock.sleep(PAUSE_MS);
    };

    for await (const item of itemsOf(list, resumed)) {
      if (Date.parse(item.created_at) < sinceMs) break;
      newestId ??= item.id;
      batch.push(item);
      if (batch.length === BATCH) await settle();
    }
    await settle();
    if (!dryRun) await engine.ledger.setBookmark(bookmark, undefined);
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
    const unknown: Candidate[] = [];
    for (const [type, ofType] of Map.groupBy(candidates, ({ healed }) => healed.type)) {
      const objectIds = ofType.map(({ healed }) => healed.objectId);
      const known = await engine.ledger.known(type, objectIds);
      unknown.push(...ofType.filter(({ healed }) => !known.has(healed.objectId)));
    }
    report.alreadyThere += candidates.length - unknown.length;
    // Asked again, because what was pruned before we asked for it is unknown too.
    sinceMs = await findSince();
    const missing = unknown.filter(({ healed }) => Date.parse(healed.createdAt) >= sinceMs);
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
        event: { id, type, objectId: parsed.objectId, source: "reconcile", body, trace: null },
        healed: { id, type, objectId: object.id, createdAt: object.created_at },
      },
    ];
  }
}

type Resource = { id: string; object: "call" | "voicemail"; created_at: string; transferred?: boolean };
type Candidate = { event: NewEvent; healed: Healed };

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

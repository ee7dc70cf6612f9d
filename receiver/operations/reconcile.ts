import { createHash } from "node:crypto";
import { z } from "zod";
import type { Envelope, EventType } from "../../shared/events.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import type { Clock } from "../clock.ts";
import { parseEnvelope } from "../intake/envelope.ts";
import type { NewEvent, Store } from "../store/port.ts";
import { RestError, type RestClient } from "./rest-client.ts";

/** Objects that are looked up and enqueued together, and the pause after each such batch. */
const BATCH = 100;
const PAUSE_MS = 200;
const LISTS = ["calls", "voicemails"] as const;

export type Healed = { id: string; type: EventType; objectId: string; createdAt: string };

/** `healed`: events that had not come, enqueued now, or without `dryRun`. Run again if `problem` says why it did not finish. */
export type ReconcileReport = {
  finished: boolean;
  dryRun: boolean;
  /** How far back it looked: as asked, unless pruning has gone further; then `prunedBefore` says how far. */
  since: string;
  prunedBefore: string | null;
  problem: string | null;
  objectsRead: number;
  healed: Healed[];
  alreadyThere: number;
  cannotBeHealed: { type: EventType; reason: string; whatToDo: string }[];
};

type Resource = { id: string; object: "call" | "voicemail"; created_at: string; transferred?: boolean };

/** Everything from the newest object to the last one, both included, has been looked at. */
const bookmarkSchema = z.object({ newestId: z.string(), lastId: z.string() });

/**
 * Reads the calls and voicemails since `sinceMs` from the REST API and enqueues the events that never came. A walk that
 * breaks off leaves a bookmark; the next one reads what is new and goes on there.
 */
export async function reconcile(options: {
  store: Pick<Store, "intake" | "ledger">;
  api: RestClient;
  clock: Clock;
  sinceMs: number;
  dryRun: boolean;
  /** A larger event is not stored: no webhook could have brought it. */
  maxBodyBytes: number;
  /** Called after each batch with the report so far. */
  onProgress: (soFar: ReconcileReport) => void;
}): Promise<ReconcileReport> {
  const { api, clock, dryRun } = options;
  const { intake, ledger } = options.store;
  let sinceMs = options.sinceMs;
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
  await limitToUnpruned();
  try {
    const { id: organizationId } = await api.me();
    for (const list of LISTS)
      await walk(list, organizationId).catch(async (error: unknown) => {
        // An object that the bookmark names is gone: the next run reads everything.
        if (error instanceof RestError && error.code === "invalid_cursor")
          await ledger.setBookmark(`reconcile ${list}`, undefined);
        throw error;
      });
    report.finished = true;
  } catch (error) {
    if (!(error instanceof RestError) && !(error instanceof StoreError)) throw error;
    report.problem = error.message;
  }
  report.cannotBeHealed.push(...unhealable(report));
  return report;

  /** The object of a pruned event is forgotten: the event would look as if it had never come. */
  async function limitToUnpruned(): Promise<void> {
    const prunedBeforeMs = await ledger.prunedBeforeMs();
    // An event may have come while our clock was behind the service's by the tolerance of signatures.
    const knownSinceMs = prunedBeforeMs && prunedBeforeMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1_000;
    if (knownSinceMs > options.sinceMs) report.prunedBefore = new Date(prunedBeforeMs).toISOString();
    sinceMs = Math.max(options.sinceMs, knownSinceMs);
    report.since = new Date(sinceMs).toISOString();
  }

  async function walk(list: (typeof LISTS)[number], organizationId: string): Promise<void> {
    const bookmark = `reconcile ${list}`;
    const left = await ledger.bookmark(bookmark);
    let resumed = left === undefined ? undefined : bookmarkSchema.parse(JSON.parse(left));
    let newestId: string | undefined;
    let batch: Resource[] = [];
    const settle = async (): Promise<void> => {
      const last = batch.at(-1);
      if (!last) return;
      await heal(batch, organizationId);
      report.objectsRead += batch.length;
      options.onProgress(report);
      batch = [];
      const place = { newestId: newestId ?? last.id, lastId: last.id };
      if (!dryRun) await ledger.setBookmark(bookmark, JSON.stringify(place));
      await clock.sleep(PAUSE_MS);
    };
    let items: AsyncIterator<Resource, void> = api[list]();
    for (;;) {
      const { value: item } = await items.next();
      if (!item || Date.parse(item.created_at) < sinceMs) break;
      newestId ??= item.id;
      batch.push(item);
      if (batch.length === BATCH) await settle();
      // Here an unfinished walk began: its part has been looked at.
      if (item.id === resumed?.newestId) items = api[list]({ startingAfter: resumed.lastId });
      resumed = item.id === resumed?.newestId ? undefined : resumed;
    }
    await settle();
    if (!dryRun) await ledger.setBookmark(bookmark, undefined);
  }

  async function heal(batch: readonly Resource[], organizationId: string): Promise<void> {
    const candidates = batch.flatMap((object) =>
      eventsOf(object).flatMap((type) => candidate(object, type, organizationId)),
    );
    const missing = [];
    for (const [type, ofType] of Map.groupBy(candidates, ({ healed }) => healed.type)) {
      const known = await ledger.known(
        type,
        ofType.map(({ healed }) => healed.objectId),
      );
      missing.push(...ofType.filter(({ healed }) => !known.has(healed.objectId)));
    }
    report.alreadyThere += candidates.length - missing.length;
    // Asked again, because what was pruned before `known` was asked is unknown too.
    await limitToUnpruned();
    const due = missing.filter(({ healed }) => Date.parse(healed.createdAt) >= sinceMs);
    if (dryRun || due.length === 0) return void report.healed.push(...due.map(({ healed }) => healed));
    const result = await intake.accept(due.map(({ event }) => event));
    if (!result.ok) throw new StoreError(`The inbox takes no events (${result.reason}): ${result.detail}`);
    for (const [index, { healed }] of due.entries()) {
      // It may have come since we asked.
      if (result.acceptances[index]?.duplicate === true) report.alreadyThere += 1;
      else report.healed.push(healed);
    }
  }

  function candidate(
    object: Resource,
    type: EventType,
    organizationId: string,
  ): { event: NewEvent; healed: Healed }[] {
    const id = eventId(type, object.id);
    const created = Math.floor(Date.parse(object.created_at) / 1_000);
    const envelope: Envelope = {
      id,
      type,
      created,
      api_version: "v1",
      data: { object },
      org_id: organizationId,
    };
    const body = bytesOf(envelope);
    if (body.byteLength > options.maxBodyBytes || !parseEnvelope(body).ok) {
      report.cannotBeHealed.push({
        type,
        reason: `${object.id} would make an event that no webhook could bring.`,
        whatToDo: "Look at it in the service's dashboard; if it is as it should be, raise MAX_BODY_BYTES.",
      });
      return [];
    }
    const healed = { id, type, objectId: object.id, createdAt: object.created_at };
    return [{ event: { id, type, objectId: object.id, source: "reconcile", body, envelope }, healed }];
  }
}

class StoreError extends Error {}

/** Empty if it is nested too deeply to be written, which makes no event. */
function bytesOf(envelope: Envelope): Buffer {
  try {
    return Buffer.from(JSON.stringify(envelope));
  } catch {
    return Buffer.alloc(0);
  }
}

/** Which events the service emits for an object. A transfer has no resource of its own: the call says so. */
function eventsOf({ object, transferred }: Resource): EventType[] {
  if (object === "voicemail") return ["voicemail.created"];
  return transferred === true ? ["call.completed", "call.transferred"] : ["call.completed"];
}

/** The same object and type always get the same id, so that a second run enqueues nothing twice. */
function eventId(type: EventType, objectId: string): string {
  return `evt_${createHash("sha256").update(`reconcile ${type} ${objectId}`).digest("hex").slice(0, 32)}`;
}

/** Types whose lost events can be neither seen nor rebuilt, and when to look for them. */
function unhealable({ since, healed }: ReconcileReport): ReconcileReport["cannotBeHealed"] {
  const times = healed.map(({ createdAt }) => createdAt).toSorted();
  const [first] = times;
  const when =
    first === undefined
      ? `since ${since}, if events were lost then`
      : `around the gap from ${first} to ${times.at(-1) ?? first}`;
  return (["order.created", "booking.created"] as const).map((type) => ({
    type,
    reason: `The REST API has no path to read ${type === "order.created" ? "orders" : "bookings"}: a lost event can neither be seen nor rebuilt.`,
    whatToDo: `In the service's dashboard, look for dead deliveries of ${type} ${when}, or for all of that time if a backup was put back, and have them sent again: those that came before are recognized.`,
  }));
}

import { hash } from "node:crypto";
import { z } from "zod";
import type { Envelope, EventType } from "../../shared/events.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/signature.ts";
import { systemClock, type Clock } from "../clock.ts";
import type { NewEvent, Store } from "../store/port.ts";
import { EXIT, Refused, type OnStore, type Outcome } from "./commands/run.ts";
import { inSnakeCase } from "./present.ts";
import { createRestClient, RestError, type RestClient } from "./rest-client.ts";

/** Objects looked up and enqueued together, and the pause after each batch. */
const BATCH = 100;
const PAUSE_MS = 200;

type Healed = { id: string; type: EventType; objectId: string; createdAt: string };

/** `healed`: events that were missing and are enqueued, except with `dryRun`. If there is a `problem`, run it again. */
export type ReconcileReport = {
  dryRun: boolean;
  problem: string | null;
  /** How far back it looked: as requested, or as far as nothing has been pruned. */
  since: string;
  objectsRead: number;
  healed: Healed[];
  alreadyThere: number;
  cannotBeHealed: { type: EventType; reason: string; whatToDo: string }[];
};

type Resource = { id: string; object: "call" | "voicemail"; created_at: string; transferred?: boolean };
type List = "calls" | "voicemails";

/** Everything from the newest object to the last one, both included, has been checked. */
const bookmarkSchema = z.object({ newestId: z.string(), lastId: z.string() });
type Bookmark = z.infer<typeof bookmarkSchema>;

/** The command: prints what was recovered and what cannot be. Exits 0 only if it checked everything. */
export async function runReconcile(
  { config, store }: OnStore,
  { since, dryRun = false }: { since: number; dryRun?: boolean },
): Promise<Outcome> {
  if (!config.api) throw new Refused("reconcile reads the REST API: set API_BASE_URL and API_KEY.");
  const api = createRestClient(config.api);
  const sinceMs = systemClock.nowMs() - since * 1_000;
  const report = await reconcile({ store, api, clock: systemClock, sinceMs, dryRun });
  await api.close();
  const { healed, alreadyThere, cannotBeHealed, problem } = report;
  const note = `reconcile did not finish: ${problem ?? ""} When that is fixed, run it again: it continues.`;
  return {
    exitCode: problem === null ? EXIT.ok : EXIT.somethingIsWrong,
    json: inSnakeCase(report),
    lines: [
      `${dryRun ? "Would be healed" : "Healed"}, since ${report.since}: ${String(healed.length)}`,
      ...healed.map(({ id, type, objectId, createdAt }) => `  ${type}  ${objectId}  ${createdAt}  as ${id}`),
      `Already there: ${String(alreadyThere)}`,
      "Cannot be healed:",
      ...cannotBeHealed.map(({ type, reason, whatToDo }) => `  ${type}  ${reason} ${whatToDo}`),
    ],
    notes: problem === null ? [] : [note],
  };
}

/**
 * Reads the calls and voicemails since `sinceMs` from the REST API and enqueues the events that never came. An interrupted
 * walk leaves a bookmark; the next one reads new objects first and then continues there.
 */
export async function reconcile(options: {
  store: Pick<Store, "intake" | "ledger">;
  api: RestClient;
  clock: Clock;
  sinceMs: number;
  dryRun: boolean;
}): Promise<ReconcileReport> {
  const { api, clock, dryRun } = options;
  const { intake, ledger } = options.store;
  let { sinceMs } = options;
  const counts = { objectsRead: 0, healed: [], alreadyThere: 0, cannotBeHealed: [] };
  const report: ReconcileReport = { dryRun, problem: null, since: "", ...counts };
  await limitToUnpruned();
  try {
    const { id: organizationId } = await api.me();
    await walk("calls", organizationId);
    await walk("voicemails", organizationId);
  } catch (error) {
    if (!(error instanceof RestError) && !(error instanceof StoreError)) throw error;
    report.problem = error.message;
  }
  const whatToDo = `In the service's dashboard, resend the dead deliveries since ${report.since}, or all of them if you restored a backup. Duplicates are recognized.`;
  const reason = "The REST API does not list them, so a lost event cannot be found or rebuilt.";
  for (const type of ["order.created", "booking.created"] as const)
    report.cannotBeHealed.push({ type, reason, whatToDo });
  return report;

  /** The object of a pruned event is forgotten, so the event would look as if it had never come. */
  async function limitToUnpruned(): Promise<void> {
    const prunedBeforeMs = await ledger.prunedBeforeMs();
    // An event may have come while our clock was behind the service's, by up to the tolerance of signatures.
    const knownSinceMs = prunedBeforeMs && prunedBeforeMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1_000;
    sinceMs = Math.max(options.sinceMs, knownSinceMs);
    report.since = new Date(sinceMs).toISOString();
  }

  async function walk(list: List, organizationId: string): Promise<void> {
    const name = `reconcile ${list}`;
    const setBookmark = async (place?: Bookmark): Promise<void> =>
      dryRun ? undefined : ledger.setBookmark(name, place && JSON.stringify(place));
    const left = await ledger.bookmark(name);
    let newestId: string | undefined;
    let batch: Resource[] = [];
    const settle = async (): Promise<void> => {
      const lastId = batch.at(-1)?.id;
      if (lastId === undefined) return;
      await heal(batch, organizationId);
      report.objectsRead += batch.length;
      batch = [];
      await setBookmark({ newestId: newestId ?? lastId, lastId });
      await clock.sleep(PAUSE_MS);
    };
    try {
      for await (const object of unseen(list, left && bookmarkSchema.parse(JSON.parse(left)))) {
        newestId ??= object.id;
        if (batch.push(object) === BATCH) await settle();
      }
    } catch (error) {
      // The object that the bookmark names is gone: the next run reads everything.
      if (error instanceof RestError && error.code === "invalid_cursor") await setBookmark();
      throw error;
    }
    await settle();
    await setBookmark();
  }

  /** Newest first, without the objects that an unfinished walk has already checked. */
  async function* unseen(
    list: List,
    checked?: Bookmark | "",
    after?: string,
  ): AsyncGenerator<Resource, void> {
    for await (const object of api[list](after)) {
      if (Date.parse(object.created_at) < sinceMs) return;
      yield object;
      if (!checked || object.id !== checked.newestId) continue;
      yield* unseen(list, undefined, checked.lastId);
      return;
    }
  }

  async function heal(batch: readonly Resource[], organizationId: string): Promise<void> {
    const candidates = batch.flatMap((object) =>
      eventsOf(object).map((type) => candidate(object, type, organizationId)),
    );
    const missing: typeof candidates = [];
    for (const [type, ofType] of Map.groupBy(candidates, (one) => one.type)) {
      const known = await ledger.known(
        type,
        ofType.map(({ objectId }) => objectId),
      );
      missing.push(...ofType.filter(({ objectId }) => !known.has(objectId)));
    }
    report.alreadyThere += candidates.length - missing.length;
    // Repeated, because events pruned before `known` was read are also unknown.
    await limitToUnpruned();
    const due = missing.filter(({ createdAt }) => Date.parse(createdAt) >= sinceMs);
    const result = dryRun || due.length === 0 ? undefined : await intake.accept(due);
    if (result?.ok === false)
      throw new StoreError(`The inbox accepts no events (${result.reason}): ${result.detail}`);
    for (const [index, { id, type, objectId, createdAt }] of due.entries()) {
      // It may have come since we asked.
      if (result?.acceptances[index]?.duplicate === true) report.alreadyThere += 1;
      else report.healed.push({ id, type, objectId, createdAt });
    }
  }
}

class StoreError extends Error {}

/** An event as the service would have sent it. The same object and type always get the same id, so none is enqueued twice. */
function candidate(object: Resource, type: EventType, organizationId: string): NewEvent & Healed {
  const { id: objectId, created_at: createdAt } = object;
  const id = `evt_${hash("sha256", `reconcile ${type} ${objectId}`).slice(0, 32)}`;
  const created = Math.floor(Date.parse(createdAt) / 1_000);
  const data = { object };
  const envelope: Envelope = { id, type, created, api_version: "v1", data, org_id: organizationId };
  const body = Buffer.from(JSON.stringify(envelope));
  return { id, type, objectId, source: "reconcile", body, envelope, createdAt };
}

/** The events that the service emits for an object. A transfer has no resource of its own: the call records it. */
function eventsOf({ object, transferred }: Resource): EventType[] {
  if (object === "voicemail") return ["voicemail.created"];
  return transferred === true ? ["call.completed", "call.transferred"] : ["call.completed"];
}

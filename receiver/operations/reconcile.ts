import { hash } from "node:crypto";
import { z } from "zod";
import type { Envelope, EventType } from "../../shared/events.ts";
import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/signature.ts";
import { systemClock, type Clock } from "../clock.ts";
import type { NewEvent, Store } from "../store/port.ts";
import { EXIT, Refused, terminal, type OnStore, type Outcome } from "./commands/run.ts";
import { inSnakeCase } from "./present.ts";
import { createRestClient, RestError, type RestClient } from "./rest-client.ts";

/** Objects looked up and enqueued together, and the pause after each batch. */
const BATCH = 100;
const PAUSE_MS = 200;

/** `healed`: events that were missing and are enqueued, except with `dryRun`. If there is a `problem`, run it again. */
export type ReconcileReport = {
  dryRun: boolean;
  problem: string | null;
  /** How far back it looked: as requested, or as far as nothing has been pruned. */
  since: string;
  objectsRead: number;
  healed: { id: string; type: EventType; objectId: string; createdAt: string }[];
  alreadyThere: number;
  cannotBeHealed: { type: EventType; reason: string; whatToDo: string }[];
};

type Resource = { id: string; object: "call" | "voicemail"; created_at: string; transferred?: boolean };
type List = "calls" | "voicemails";

/** Everything from the newest object to the last one, both included, has been checked. */
const bookmarkSchema = z.object({ newestId: z.string(), lastId: z.string() });

/** The command: prints what was recovered and what cannot be. Exits 0 only if it checked everything. */
export async function runReconcile(
  { config, store }: OnStore,
  { since, dryRun = false }: { since: number; dryRun?: boolean },
): Promise<Outcome> {
  if (!config.api) throw new Refused("reconcile reads the REST API: set API_BASE_URL and API_KEY.");
  const api = createRestClient(config.api);
  const report = await reconcile({
    store,
    api,
    clock: systemClock,
    sinceMs: systemClock.nowMs() - since * 1_000,
    dryRun,
    onProgress: ({ objectsRead }) => terminal.progress(`${String(objectsRead)} objects read`),
  });
  terminal.progress("");
  await api.close();
  const { healed, alreadyThere, cannotBeHealed, problem } = report;
  const note = `reconcile did not finish: ${problem ?? ""} Run it again: it continues where it stopped.`;
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
  /** Called after each batch with the report so far. */
  onProgress: (soFar: ReconcileReport) => void;
}): Promise<ReconcileReport> {
  const { api, clock, dryRun } = options;
  const { intake, ledger } = options.store;
  let { sinceMs } = options;
  const report: ReconcileReport = {
    dryRun,
    problem: null,
    since: "",
    objectsRead: 0,
    healed: [],
    alreadyThere: 0,
    cannotBeHealed: [],
  };
  await limitToUnpruned();
  try {
    const { id: organizationId } = await api.me();
    await walk("calls", organizationId);
    await walk("voicemails", organizationId);
  } catch (error) {
    if (!(error instanceof RestError) && !(error instanceof StoreError)) throw error;
    report.problem = error.message;
  }
  report.cannotBeHealed.push(...unhealable(report.since));
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
    const setBookmark = async (value: string | undefined): Promise<void> =>
      dryRun ? undefined : ledger.setBookmark(name, value);
    const left = await ledger.bookmark(name);
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
      await setBookmark(JSON.stringify({ newestId: newestId ?? last.id, lastId: last.id }));
      await clock.sleep(PAUSE_MS);
    };
    try {
      for await (const object of unseen(list, resumed)) {
        newestId ??= object.id;
        batch.push(object);
        if (batch.length === BATCH) await settle();
      }
    } catch (error) {
      // The object that the bookmark names is gone: the next run reads everything.
      if (error instanceof RestError && error.code === "invalid_cursor") await setBookmark(undefined);
      throw error;
    }
    await settle();
    await setBookmark(undefined);
  }

  /** Newest first, without the objects that an unfinished walk has already checked. */
  async function* unseen(
    list: List,
    { newestId, lastId }: Partial<z.infer<typeof bookmarkSchema>> = {},
    startingAfter?: string,
  ): AsyncGenerator<Resource, void> {
    for await (const object of api[list](startingAfter)) {
      if (Date.parse(object.created_at) < sinceMs) return;
      yield object;
      if (object.id !== newestId) continue;
      yield* unseen(list, {}, lastId);
      return;
    }
  }

  async function heal(batch: readonly Resource[], organizationId: string): Promise<void> {
    const candidates = batch.flatMap((object) =>
      eventsOf(object).map((type) => candidate(object, type, organizationId)),
    );
    const missing = [];
    for (const [type, ofType] of Map.groupBy(candidates, (one) => one.type)) {
      const objectIds = ofType.map(({ objectId }) => objectId);
      const known = await ledger.known(type, objectIds);
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

function candidate(object: Resource, type: EventType, organizationId: string): Candidate {
  const { id: objectId, created_at: createdAt } = object;
  const id = eventId(type, objectId);
  const created = Math.floor(Date.parse(createdAt) / 1_000);
  const data = { object };
  const envelope: Envelope = { id, type, created, api_version: "v1", data, org_id: organizationId };
  return {
    id,
    type,
    objectId,
    source: "reconcile",
    body: Buffer.from(JSON.stringify(envelope)),
    envelope,
    createdAt,
  };
}

type Candidate = NewEvent & { type: EventType; objectId: string; createdAt: string };

class StoreError extends Error {}

/** The events that the service emits for an object. A transfer has no resource of its own: the call records it. */
function eventsOf({ object, transferred }: Resource): EventType[] {
  if (object === "voicemail") return ["voicemail.created"];
  return transferred === true ? ["call.completed", "call.transferred"] : ["call.completed"];
}

/** The same object and type always get the same id, so a second run enqueues nothing twice. */
function eventId(type: EventType, objectId: string): string {
  return `evt_${hash("sha256", `reconcile ${type} ${objectId}`).slice(0, 32)}`;
}

/** Types whose lost events can be neither found nor rebuilt, and when to look for them. */
function unhealable(since: string): ReconcileReport["cannotBeHealed"] {
  const whatToDo = `In the service's dashboard, resend the dead deliveries since ${since}, or all of them if you restored a backup. Duplicates are recognized.`;
  const reason = "The REST API does not list them, so a lost event cannot be found or rebuilt.";
  return (["order.created", "booking.created"] as const).map((type) => ({ type, reason, whatToDo }));
}

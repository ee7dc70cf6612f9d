import { expect, test } from "vitest";
import { reconcile, type ReconcileReport } from "../../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../../receiver/operations/rest-client.ts";
import type { Store } from "../../../receiver/store/port.ts";
import { envelopeSchema } from "../../../shared/events.ts";
import { sampleOrganization } from "../../../shared/samples.ts";
import {
  API_KEY,
  hurriedClock,
  makeCalls,
  makeVoicemails,
  startRestService,
} from "../helpers/rest-service.ts";
import { openInbox } from "./inbox.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 0, 31);

async function begin() {
  const clock = hurriedClock();
  const inbox = await openInbox({ every: "call.completed" }, clock);
  const { state, baseUrl } = await startRestService();
  const api = createRestClient({ baseUrl, key: API_KEY, pauseMs: 1 });
  const week = { sinceMs: NOW_MS - 7 * DAY_MS, dryRun: false };
  const given = { store: inbox, api, clock, ...week };
  const run = async (options: Partial<typeof week> & { store?: Store } = {}): Promise<ReconcileReport> =>
    reconcile({ ...given, ...options });
  return { inbox, state, run, clock };
}

const objects = ({ healed }: ReconcileReport): string[] =>
  healed.map(({ type, objectId }) => `${type} ${objectId}`).toSorted();

test("missing events are enqueued once: calls, transfers and voicemails", async () => {
  const { inbox, state, run } = await begin();
  const [newest, older, oldest] = makeCalls(3, NOW_MS);
  state.calls = [{ ...newest!, transferred: true }, older!, oldest!];
  state.voicemails = makeVoicemails(1, NOW_MS);
  await inbox.stored({ objectId: older!.id });

  const report = await run();
  expect(report).toMatchObject({ problem: null, alreadyThere: 1, objectsRead: 4 });
  expect(objects(report)).toEqual([
    `call.completed ${oldest!.id}`,
    `call.completed ${newest!.id}`,
    `call.transferred ${newest!.id}`,
    "voicemail.created vm_00001",
  ]);
  const [healed] = report.healed;
  const event = await inbox.ledger.find(healed!.id);
  const jobs = [{ state: "waiting" }];
  expect(event).toMatchObject({ type: "call.completed", objectId: newest!.id, source: "reconcile", jobs });
  const body = await inbox.ledger.body(event!.seq);
  const envelope = envelopeSchema.parse(JSON.parse(Buffer.from(body!).toString()));
  expect(envelope).toMatchObject({ org_id: sampleOrganization.id, created: NOW_MS / 1_000 });
  expect(envelope.data.object).toMatchObject({ id: newest!.id });
  expect(await run()).toMatchObject({ problem: null, healed: [], alreadyThere: 5 });
});

test("a webhook that comes later for the same object and type is a duplicate", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(1, NOW_MS);
  const [healed] = (await run()).healed;
  const late = await inbox.stored({ objectId: state.calls[0]!.id });
  for (const id of [late, healed!.id])
    expect(await inbox.ledger.find(id)).toMatchObject({ source: "reconcile", duplicates: 1 });
});

test("a dry run reports the same and changes nothing", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(2, NOW_MS);
  const unfinished = JSON.stringify({ newestId: "call_1", lastId: "call_0" });
  await inbox.ledger.setBookmark("reconcile calls", unfinished);
  expect(objects(await run({ dryRun: true }))).toHaveLength(2);
  expect((await inbox.ledger.counts()).events).toBe(0);
  expect(await inbox.ledger.bookmark("reconcile calls")).toBe(unfinished);
});

test("it looks back as far as requested, but not into the pruned time", async () => {
  const { inbox, state, run } = await begin();
  state.calls = [...makeCalls(1, NOW_MS, "new"), ...makeCalls(1, NOW_MS - DAY_MS, "old")];
  const half = NOW_MS - DAY_MS / 2;
  expect(await run({ sinceMs: half, dryRun: true })).toMatchObject({ objectsRead: 1 });
  const prunedBeforeMs = async (): Promise<number> => half;
  const pruned = await run({ store: { ...inbox, ledger: { ...inbox.ledger, prunedBeforeMs } } });
  expect(pruned).toMatchObject({ problem: null, since: new Date(half + 301_000).toISOString() });
  expect(objects(pruned)).toEqual(["call.completed call_new00001"]);
});

test("events that arrive or are pruned during a run are not enqueued again", async () => {
  const { inbox, state, run } = await begin();
  state.calls = [...makeCalls(2, NOW_MS, "new"), ...makeCalls(1, NOW_MS - DAY_MS, "old")];
  let prunedMs = 0;
  const known: Store["ledger"]["known"] = async () => {
    await inbox.stored({ objectId: "call_new00001" });
    prunedMs = NOW_MS - DAY_MS / 2;
    return new Set();
  };
  const ledger = { ...inbox.ledger, known, prunedBeforeMs: async (): Promise<number> => prunedMs };
  const report = await run({ store: { ...inbox, ledger } });
  expect([report.alreadyThere, ...objects(report)]).toEqual([1, "call.completed call_new00002"]);
});

test("an interrupted run reports it, and the next reads new objects and continues from there", async () => {
  const { state, run, clock } = await begin();
  state.calls = makeCalls(250, NOW_MS);
  state.isDown = (count) => count > 3;
  const problem: unknown = expect.stringContaining("500");
  expect(await run()).toMatchObject({ problem, objectsRead: 100 });
  // It rests after each hundred, so that the receiver keeps its pace.
  expect(clock.nowMs() - NOW_MS).toBe(200);
  state.isDown = () => false;
  state.calls = [...makeCalls(1, NOW_MS + 60_000, "new"), ...state.calls];
  const resumed = await run();
  expect(resumed).toMatchObject({ problem: null, alreadyThere: 1, objectsRead: 152 });
  expect(resumed.healed).toHaveLength(151);
  expect(await run()).toMatchObject({ problem: null, healed: [], alreadyThere: 251 });
});

test("a bookmark at a deleted object is dropped, and the next run reads everything", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(3, NOW_MS);
  const bookmark = { newestId: state.calls[0]!.id, lastId: "call_gone" };
  await inbox.ledger.setBookmark("reconcile calls", JSON.stringify(bookmark));
  expect((await run()).problem).toContain("invalid_cursor");
  expect(await run()).toMatchObject({ problem: null, objectsRead: 3 });
});

test("a database that refuses writes ends it with the reason", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(1, NOW_MS);
  const accept: Store["intake"]["accept"] = async () => ({ ok: false, reason: "full", detail: "no room" });
  const report = await run({ store: { ...inbox, intake: { ...inbox.intake, accept } } });
  expect(report).toMatchObject({ healed: [], problem: "The inbox accepts no events (full): no room" });
});

test("it names what it cannot recover: orders and bookings", async () => {
  const { run } = await begin();
  expect((await run()).cannotBeHealed).toMatchObject([
    { type: "order.created", whatToDo: expect.stringContaining("deliveries since 2026-01-24") },
    { type: "booking.created" },
  ]);
});

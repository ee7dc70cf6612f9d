import { expect, test } from "vitest";
import { reconcile, type ReconcileReport } from "../../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../../receiver/operations/rest-client.ts";
import type { Store } from "../../../receiver/store/port.ts";
import { envelopeSchema } from "../../../shared/events.ts";
import { sampleOrganization } from "../../../shared/samples.ts";
import { hurriedClock } from "../helpers/clock.ts";
import { newEventId } from "../helpers/events.ts";
import { API_KEY, makeCalls, makeVoicemails, startRestService } from "../helpers/rest-service.ts";
import { openInbox } from "./inbox.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 0, 31);

async function begin() {
  const inbox = await openInbox({ every: "call.completed" }, hurriedClock());
  const { state, baseUrl } = await startRestService();
  const api = createRestClient({ baseUrl, key: API_KEY, pauseMs: 1 });
  const run = async (
    options: {
      dryRun?: boolean;
      sinceMs?: number;
      store?: Pick<Store, "intake" | "ledger">;
      maxBodyBytes?: number;
    } = {},
  ): Promise<ReconcileReport> =>
    reconcile({
      store: inbox,
      api,
      clock: hurriedClock(),
      sinceMs: NOW_MS - 7 * DAY_MS,
      dryRun: false,
      maxBodyBytes: 1_048_576,
      onProgress: () => undefined,
      ...options,
    });
  return { inbox, state, run };
}

const objects = ({ healed }: ReconcileReport): string[] =>
  healed.map(({ type, objectId }) => `${type} ${objectId}`);

test("what no event brought is enqueued once: calls, transfers and voicemails", async () => {
  const { inbox, state, run } = await begin();
  const [newest, older, oldest] = makeCalls(3, NOW_MS);
  state.calls = [{ ...newest!, transferred: true }, older!, oldest!];
  state.voicemails = makeVoicemails(1, NOW_MS);
  await inbox.stored({ objectId: older!.id });

  const report = await run();
  expect(report).toMatchObject({ finished: true, alreadyThere: 1, objectsRead: 4, problem: null });
  expect(objects(report).toSorted()).toEqual(
    [
      `call.completed ${newest!.id}`,
      `call.completed ${oldest!.id}`,
      `call.transferred ${newest!.id}`,
      "voicemail.created vm_00001",
    ].toSorted(),
  );
  const [healed] = report.healed;
  const event = await inbox.ledger.find(healed!.id);
  expect(event).toMatchObject({
    type: "call.completed",
    objectId: newest!.id,
    source: "reconcile",
    jobs: [{ state: "waiting" }],
  });
  const body = await inbox.ledger.body(event!.seq);
  const envelope = envelopeSchema.parse(JSON.parse(Buffer.from(body!).toString()));
  expect(envelope).toMatchObject({
    org_id: sampleOrganization.id,
    created: NOW_MS / 1_000,
    data: { object: { id: newest!.id } },
  });
  expect(await run()).toMatchObject({ finished: true, healed: [], alreadyThere: 5 });
});

test("a webhook that comes later for the same object and type is a duplicate", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(1, NOW_MS);
  const [healed] = (await run()).healed;
  const late = await inbox.stored({ id: newEventId(), objectId: state.calls[0]!.id });
  expect(await inbox.ledger.find(late)).toMatchObject({ source: "reconcile", duplicates: 1 });
  expect(await inbox.ledger.find(healed!.id)).toMatchObject({ duplicates: 1 });
});

test("a dry run says the same and changes nothing", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(2, NOW_MS);
  expect(objects(await run({ dryRun: true }))).toHaveLength(2);
  expect((await inbox.ledger.counts()).events).toBe(0);
  expect(await inbox.ledger.bookmark("reconcile calls")).toBeUndefined();
});

test("it looks back as far as it is told, and no further than what was pruned", async () => {
  const { inbox, state, run } = await begin();
  state.calls = [...makeCalls(1, NOW_MS, "new"), ...makeCalls(1, NOW_MS - DAY_MS, "old")];
  expect(await run({ sinceMs: NOW_MS - DAY_MS / 2, dryRun: true })).toMatchObject({
    objectsRead: 1,
    prunedBefore: null,
  });
  const prunedBeforeMs = async (): Promise<number> => NOW_MS - DAY_MS / 2;
  const pruned = await run({ store: { ...inbox, ledger: { ...inbox.ledger, prunedBeforeMs } } });
  expect(pruned).toMatchObject({
    finished: true,
    since: new Date(NOW_MS - DAY_MS / 2 + 301_000).toISOString(),
    prunedBefore: new Date(NOW_MS - DAY_MS / 2).toISOString(),
  });
  expect(objects(pruned)).toEqual(["call.completed call_new00001"]);
});

test("a run that breaks off says so, and the next reads what is new and goes on there", async () => {
  const { state, run } = await begin();
  state.calls = makeCalls(250, NOW_MS);
  state.isDown = (count) => count > 3;
  const broken = await run();
  expect(broken).toMatchObject({
    finished: false,
    problem: expect.stringContaining("500"),
    objectsRead: 100,
  });
  state.isDown = () => false;
  state.calls = [...makeCalls(1, NOW_MS + 60_000, "new"), ...state.calls];
  const resumed = await run();
  expect(resumed).toMatchObject({ finished: true, alreadyThere: 1, objectsRead: 152 });
  expect(resumed.healed).toHaveLength(151);
  expect(await run()).toMatchObject({ finished: true, healed: [], alreadyThere: 251 });
});

test("a bookmark at an object that is gone is dropped, and the run after reads everything", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(3, NOW_MS);
  await inbox.ledger.setBookmark(
    "reconcile calls",
    JSON.stringify({ newestId: state.calls[0]!.id, lastId: "call_gone" }),
  );
  expect(await run()).toMatchObject({ finished: false, problem: expect.stringContaining("invalid_cursor") });
  expect(await run()).toMatchObject({ finished: true, objectsRead: 3 });
});

test("an object that is nested too deeply for an event is named, and the others are healed", async () => {
  const { state, run } = await begin();
  const [deep, plain] = makeCalls(2, NOW_MS);
  state.calls = [deep!, plain!];
  state.interludes = [
    (_request, response) => void response.end(JSON.stringify(sampleOrganization)),
    (_request, response) => {
      const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
      const text = JSON.stringify({ ...deep, more: 1 }).replace('"more":1', `"more":${nested}`);
      response.end(`{"object":"list","data":[${text},${JSON.stringify(plain)}]}`);
    },
  ];
  const report = await run();
  expect(report).toMatchObject({ finished: true, healed: [{ objectId: plain!.id }] });
  expect(report.cannotBeHealed[0]!.reason).toContain(deep!.id);
});

test("a database that takes nothing ends it with the reason", async () => {
  const { inbox, state, run } = await begin();
  state.calls = makeCalls(1, NOW_MS);
  const accept: Store["intake"]["accept"] = async () => ({ ok: false, reason: "full", detail: "no room" });
  expect(await run({ store: { ...inbox, intake: { ...inbox.intake, accept } } })).toMatchObject({
    finished: false,
    healed: [],
    problem: "The inbox takes no events (full): no room",
  });
});

test("it names what it cannot heal: orders and bookings around the gap, and objects beyond the size of an event", async () => {
  const { state, run } = await begin();
  state.calls = makeCalls(2, NOW_MS).map((call, index) =>
    index === 0 ? { ...call, transcript: "x".repeat(5_000) } : call,
  );
  const { cannotBeHealed, healed } = await run({ maxBodyBytes: 4_096 });
  expect(healed).toHaveLength(1);
  expect(cannotBeHealed.map(({ type }) => type)).toEqual([
    "call.completed",
    "order.created",
    "booking.created",
  ]);
  expect(cannotBeHealed[0]!.reason).toContain("call_00002");
  expect(cannotBeHealed[1]!.whatToDo).toContain(`around the gap from ${state.calls[1]!.created_at}`);
  expect((await run()).cannotBeHealed.at(-1)!.whatToDo).toMatch(/call|since|around/);
});

import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { Intake, Ledger } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createInbox } from "../../receiver/intake/inbox.ts";
import { createGroupCommit } from "../../receiver/intake/group-commit.ts";
import { reconcile, type ReconcileReport } from "../../receiver/operations/reconcile.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { eventSchema } from "../../shared/events.ts";
import { sampleOrganization } from "../../shared/samples.ts";
import { SECRET, idOf, newBody, signatureFor } from "./helpers/events.ts";
import { API_KEY, makeCalls, makeVoicemails, startRestService } from "./helpers/rest-service.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

const DAY_MS = 86_400_000;

function nested(levels: number): unknown {
  return levels === 0 ? [] : [nested(levels - 1)];
}

async function setUp() {
  const { state, baseUrl } = await startRestService();
  const rests: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void rests.push(ms) };
  const api = createRestClient({ baseUrl, key: API_KEY, clock, random: () => 1 });
  onTestFinished(api.close);
  const engine = await openSqliteEngine({
    file: join(temporaryDirectory(), "receiver.db"),
    clock,
  });
  onTestFinished(engine.close);
  const inbox = createInbox({
    secrets: [SECRET],
    clock,
    store: createGroupCommit({ accept: engine.intake.accept, clock }),
  });
  const deliver = async (body: Uint8Array) => inbox({ signatures: [signatureFor(body)], body, trace: null });
  let { prunedBeforeMs } = engine.ledger;
  const setPrunedBefore = (atMs: number): void => {
    prunedBeforeMs = async () => atMs;
  };
  const run = async (options: Running = {}) =>
    reconcile({
      engine: {
        ...engine,
        intake: { ...engine.intake, accept: options.accept ?? engine.intake.accept },
        ledger: {
          ...engine.ledger,
          prunedBeforeMs: async () => prunedBeforeMs(),
          setBookmark: options.setBookmark ?? engine.ledger.setBookmark,
        },
      },
      api,
      clock,
      sinceMs: options.sinceMs ?? Date.now() - 7 * DAY_MS,
      dryRun: options.dryRun ?? false,
      maxBodyBytes: 1_048_576,
      onProgress: options.onProgress ?? (() => undefined),
    });
  return { state, engine, deliver, run, setPrunedBefore, rests };
}

type Running = {
  dryRun?: boolean;
  sinceMs?: number;
  accept?: Intake["accept"];
  setBookmark?: Ledger["setBookmark"];
  onProgress?: (soFar: ReconcileReport) => void;
};

describe("reconcile", () => {
  test("looks back no further than pruning has gone: what came before would look as if it never had", async () => {
    const { state, run, setPrunedBefore } = await setUp();
    const now = Date.now();
    // A minute apart from each other.
    state.calls = makeCalls(10, now);
    // What came before then was created up to 300 s later by the service's clock, and a beginning second more.
    const prunedBeforeMs = Math.floor(now / 1_000) * 1_000 - 7 * 60_000;
    setPrunedBefore(prunedBeforeMs);
    const report = await run();
    expect(report.since).toBe(new Date(prunedBeforeMs + 301_000).toISOString());
    expect(report.healed.map(({ objectId }) => objectId)).toEqual(
      state.calls.slice(0, 2).map(({ id }) => id),
    );
    expect(report.prunedBefore).toBe(new Date(prunedBeforeMs).toISOString());
  });

  test("leaves alone what is pruned while it looks, which it does not know any more when it asks", async () => {
    const { state, run, setPrunedBefore } = await setUp();
    const now = Date.now();
    state.calls = makeCalls(10, now);
    state.isDown = (count) => {
      if (count === 2) setPrunedBefore(now - 7 * 60_000);
      return false;
    };
    const report = await run();
    expect(report.healed.map(({ objectId }) => objectId)).toEqual(
      state.calls.slice(0, 2).map(({ id }) => id),
    );
    expect(report.prunedBefore).toBe(new Date(now - 7 * 60_000).toISOString());
  });

  test("enqueues what no event brought, and tells it from what is there", async () => {
    const { state, engine, deliver, run } = await setUp();
    const now = Date.now();
    state.calls = makeCalls(4, now);
    state.calls[1] = {
      ...state.calls[1]!,
      transferred: true,
      transfer_to: "+12125550101",
      transfer_succeeded: true,
    };
    state.voicemails = makeVoicemails(2, now);
    await deliver(newBody("call.completed", { data: { object: state.calls[0] } }));
    await deliver(newBody("voicemail.created", { data: { object: state.voicemails[1] } }));

    const report = await run();
    expect(report).toMatchObject({ finished: true, dryRun: false, objectsRead: 6, alreadyThere: 2 });
    expect(report.healed.map(({ type, objectId }) => `${type} ${objectId}`)).toEqual([
      `call.completed ${state.calls[1].id}`,
      `call.completed ${state.calls[2]!.id}`,
      `call.completed ${state.calls[3]!.id}`,
      `call.transferred ${state.calls[1].id}`,
      `voicemail.created ${state.voicemails[0]!.id}`,
    ]);
    for (const { id, type, objectId } of report.healed) {
      const event = await engine.ledger.find(id);
      expect(event).toMatchObject({ id, type, source: "reconcile", state: "pending" });
      const envelope: unknown = JSON.parse(Buffer.from((await engine.ledger.body(event!.seq))!).toString());
      expect(eventSchema(type).safeParse(envelope).error).toBeUndefined();
      const object = [...state.calls, ...state.voicemails].find((one) => one.id === objectId);
      expect(envelope).toEqual({
        id,
        type,
        created: Date.parse(object!.created_at) / 1_000,
        api_version: "v1",
        data: { object },
        org_id: sampleOrganization.id,
      });
    }
    expect(await run()).toMatchObject({ finished: true, healed: [], alreadyThere: 7 });
  });

  test.each([false, true])(
    "says after each batch how far it is, rests behind it, and marks its place, in a dry run: %s",
    async (dryRun) => {
      const { state, engine, run, rests } = await setUp();
      state.calls = makeCalls(250, Date.now());
      state.voicemails = makeVoicemails(3, Date.now());
      const told: number[][] = [];
      const marks: unknown[] = [];
      const setBookmark: Ledger["setBookmark"] = async (name, value) => {
        marks.push([name, value === undefined ? undefined : JSON.parse(value)]);
        await engine.ledger.setBookmark(name, value);
      };
      const report = await run({
        dryRun,
        setBookmark,
        onProgress: ({ objectsRead, healed, alreadyThere }) =>
          void told.push([objectsRead, healed.length, alreadyThere]),
      });
      expect(told).toEqual([100, 200, 250, 253].map((read) => [read, read, 0]));
      expect(rests).toEqual([200, 200, 200, 200]);
      const call = (index: number): string => state.calls[index]!.id;
      const mark = (list: string, newestId: string, lastId: string) => [
        `reconcile ${list}`,
        { newestId, lastId },
      ];
      const marked = [
        mark("calls", call(0), call(99)),
        mark("calls", call(0), call(199)),
        mark("calls", call(0), call(249)),
        ["reconcile calls", undefined],
        mark("voicemails", state.voicemails[0]!.id, state.voicemails[2]!.id),
        ["reconcile voicemails", undefined],
      ];
      expect(marks).toEqual(dryRun ? [] : marked);
      expect(report).toMatchObject({
        finished: true,
        dryRun,
        problem: null,
        prunedBefore: null,
        objectsRead: 253,
      });
      const newest = await engine.ledger.list({}, { limit: 500 });
      expect(newest).toHaveLength(dryRun ? 0 : 253);
    },
  );

  test("counts what came while it asked as there already", async () => {
    const { state, engine, run } = await setUp();
    state.calls = makeCalls(3, Date.now());
    const accept: Intake["accept"] = async (batch) => {
      const result = await engine.intake.accept(batch);
      if (!result.ok) return result;
      const acceptances = result.acceptances.map((_, index) => ({ duplicate: index === 1 }));
      return { ok: true, acceptances };
    };
    const report = await run({ accept });
    expect(report).toMatchObject({ objectsRead: 3, alreadyThere: 1 });
    expect(report.healed.map(({ objectId }) => objectId)).toEqual([state.calls[0]!.id, state.calls[2]!.id]);
  });

  test("names what it cannot heal, and when to look for it", async () => {
    const { state, run } = await setUp();
    state.calls = makeCalls(2, Date.now());
    const { cannotBeHealed } = await run();
    expect(cannotBeHealed.map(({ type }) => type)).toEqual(["order.created", "booking.created"]);
    for (const { reason, whatToDo } of cannotBeHealed) {
      expect(reason).toContain("no path");
      expect(whatToDo).toContain(state.calls[1]!.created_at);
      expect(whatToDo).toContain(state.calls[0]!.created_at);
    }
  });

  test("changes nothing in a dry run", async () => {
    const { state, engine, run } = await setUp();
    state.calls = makeCalls(3, Date.now());
    expect((await run({ dryRun: true })).healed).toHaveLength(3);
    expect((await engine.ledger.counts()).byState.pending).toBe(0);
    expect((await run()).healed).toHaveLength(3);
  });

  test("makes the webhook that comes late after all a duplicate", async () => {
    const { state, engine, deliver, run } = await setUp();
    state.voicemails = makeVoicemails(1, Date.now());
    const { healed } = await run();
    const late = newBody("voicemail.created", { data: { object: state.voicemails[0] } });
    expect(await deliver(late)).toMatchObject({ kind: "duplicate" });
    expect(await engine.ledger.find(idOf(late))).toMatchObject({ id: healed[0]!.id, duplicates: 1 });
    expect((await engine.ledger.counts()).byState.pending).toBe(1);
  });

  test("stores nothing that no webhook could have brought, and heals the rest", async () => {
    const { state, engine, run } = await setUp();
    state.calls = makeCalls(6, Date.now());
    const [, large, deep, dateless, fitting] = state.calls;
    large!.transcript = "x".repeat(1_048_576);
    Object.assign(deep!, { more: nested(65) });
    dateless!.created_at = "2026-13-45T99:99:99Z";
    // Neither is it more than it may be.
    fitting!.transcript = "x".repeat(1_047_000);
    const report = await run();
    expect(report).toMatchObject({ finished: true, objectsRead: 6 });
    expect(report.healed.map(({ objectId }) => objectId)).toEqual(
      [0, 4, 5].map((index) => state.calls[index]!.id),
    );
    expect(report.cannotBeHealed.at(-1)).toMatchObject({
      type: "call.completed",
      reason: expect.stringMatching(/^3 of the objects .*\(call_00005, call_00004, call_00003\)/),
      whatToDo: expect.stringContaining("MAX_BODY_BYTES"),
    });
    expect((await engine.ledger.counts()).byState.pending).toBe(3);
  });

  test("survives an object that is nested a hundred thousand times", async () => {
    const { state, run } = await setUp();
    state.calls = makeCalls(2, Date.now());
    const [deep, plain] = state.calls.map((call) => JSON.stringify(call));
    const opened = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    state.interludes = [
      undefined,
      (_: unknown, response: ServerResponse) =>
        response.end(
          `{"object":"list","data":[${deep!.replace(/\}$/, `,"more":${opened}}`)},${plain!}],"has_more":false}`,
        ),
    ].map((interlude) => interlude ?? ((_, response) => response.end(JSON.stringify(sampleOrganization))));
    expect(await run()).toMatchObject({
      finished: true,
      objectsRead: 2,
      healed: [{ type: "call.completed" }],
    });
  });

  test("looks no further back than it was asked to", async () => {
    const { state, run } = await setUp();
    const now = Date.now();
    state.calls = [...makeCalls(3, now), ...makeCalls(200, now - 2 * DAY_MS, "old")];
    expect(await run({ sinceMs: now - DAY_MS })).toMatchObject({ objectsRead: 3 });
    // Two requests beside the calls: the organization and the voicemails.
    expect(state.requests.filter((request) => request.includes("/calls"))).toHaveLength(1);
  });

  test("that broke off is no success, and goes on where it stopped, after what is new", async () => {
    const { state, run } = await setUp();
    const now = Date.now();
    state.calls = makeCalls(350, now);
    // The organization and two pages of calls; then nothing for as long as the client tries.
    state.isDown = (count) => count > 3;
    const broken = await run();
    expect(broken).toMatchObject({
      finished: false,
      objectsRead: 200,
      problem: expect.stringContaining("500"),
    });
    expect(broken.healed).toHaveLength(200);

    state.isDown = () => false;
    // Who only looks reads everything, and leaves the way to go on as it is.
    const dry = await run({ dryRun: true });
    expect(dry).toMatchObject({ finished: true, objectsRead: 150, alreadyThere: 0 });
    state.calls = [...makeCalls(5, now + 60_000, "new"), ...state.calls];
    const before = state.requests.length;
    const resumed = await run();
    expect(resumed).toMatchObject({ finished: true, objectsRead: 155, alreadyThere: 0 });
    expect(resumed.healed).toHaveLength(155);
    expect(
      state.requests.slice(before).some((request) => request.includes("starting_after=call_00151")),
    ).toBe(true);
  });

  test("that could not store what it found brings it with the next run", async () => {
    const { state, engine, run } = await setUp();
    state.calls = makeCalls(250, Date.now());
    let batches = 0;
    const accept: Intake["accept"] = async (batch) =>
      (batches += 1) === 2
        ? { ok: false, reason: "full", detail: "There is no room." }
        : engine.intake.accept(batch);
    const broken = await run({ accept });
    expect(broken).toMatchObject({ finished: false, problem: expect.stringContaining("There is no room.") });
    await run();
    const stored = await engine.ledger.list({}, { limit: 1_000 });
    expect(stored).toHaveLength(250);
  });
});

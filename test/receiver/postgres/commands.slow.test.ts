import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runDoctor, backup } from "../../../receiver/operations/commands/care.ts";
import {
  exportEvents,
  inboxStatistics,
  listInbox,
  pruneInbox,
  requeueEvents,
  showEvent,
} from "../../../receiver/operations/commands/inbox.ts";
import { move } from "../../../receiver/engines/postgres/move/command.ts";
import { openConfigured } from "../../../receiver/engines/open.ts";
import { orComplain } from "../../../receiver/operations/commands/with-engine.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { done, newEvent, newEvents } from "../engine-suite/harness.ts";
import { get, newBody, idOf, post } from "../helpers/events.ts";
import { startTestReceiver, testConfig } from "../helpers/receiver.ts";
import { recordingTerminal } from "../helpers/terminal.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { driven, opened } from "./opened.ts";
import { proxyTo } from "./proxy.ts";

test("what operators ask of an inbox is answered by PostgreSQL as well", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const config = testConfig({ DATABASE_URL: url });
  const engine = await opened(url);
  const body = newBody("call.completed", { type: "call.pondered" });
  await engine.intake.accept([newEvent({ id: idOf(body), type: "call.pondered", body })]);
  const { processor } = await driven(engine, done, { types: [] });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.ignored === 1,
  );
  await processor.drain(0);
  const terminal = recordingTerminal();
  expect(await listInbox({ engine, terminal }, { state: "ignored", limit: 5 })).toBe(0);
  expect(terminal.printed.splice(0)).toEqual([
    expect.stringMatching(`^ignored .*call.pondered +${idOf(body)}`),
  ]);
  expect(await showEvent({ engine, terminal }, idOf(body), { body: true, json: true })).toBe(0);
  expect(JSON.parse(terminal.printed.splice(0).join(""))).toMatchObject({
    state: "ignored",
    envelope: { id: idOf(body) },
  });
  expect(await exportEvents({ engine, terminal }, { includePersonalData: true })).toBe(0);
  expect(terminal.printed.splice(0)).toEqual([body.toString()]);
  expect(await requeueEvents({ engine, terminal }, [], { state: "ignored" })).toBe(0);
  expect(terminal.printed.splice(0)).toEqual(["1 requeued."]);
  expect(await inboxStatistics({ engine, terminal }, { json: true })).toBe(0);
  expect(JSON.parse(terminal.printed.splice(0).join(""))).toMatchObject({
    by_state: { pending: 1, ignored: 0 },
  });
  expect(await pruneInbox({ engine, config, terminal }, {})).toBe(0);
  terminal.printed.splice(0);
  // The server that tests start finds something in itself: it doesn't sync. Another may have nothing to say.
  const ofServer = (await engine.ledger.check?.()) ?? [];
  const expected = process.env["TEST_DATABASE_URL"] === undefined ? ["fsync is off"] : [];
  expect(ofServer.map((finding) => finding.split(":")[0])).toEqual(expect.arrayContaining(expected));
  expect(await runDoctor({ config, engine, terminal }, { json: true })).toBe(ofServer.length > 0 ? 1 : 0);
  const { findings } = JSON.parse(terminal.printed.splice(0).join("")) as { findings: { message: string }[] };
  expect(findings.map(({ message }) => message)).toEqual(expect.arrayContaining(ofServer));
  expect(await orComplain(terminal, async () => backup({ engine, terminal }, temporaryDirectory()))).toBe(1);
  expect(terminal.said).toContainEqual(expect.stringContaining("pg_dump"));
});

test("a command whose statement the server refuses says so in a line, with what to do", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  // As a standby does.
  const engine = await opened(`${url}?options=-c%20default_transaction_read_only%3Don`);
  const terminal = recordingTerminal();
  const requeue = async (): Promise<number> =>
    requeueEvents({ engine, terminal }, [`evt_${"0".repeat(32)}`], {});
  expect(await orComplain(terminal, requeue)).toBe(3);
  expect(terminal.said).toEqual([
    expect.stringMatching(/: cannot execute .* in a read-only transaction \(25006\)$/),
  ]);
});

test("no event is of a handler whose name no database could hold", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const engine = await opened(url);
  await engine.intake.accept([newEvent()]);
  expect(await engine.ledger.list({ handler: "log\0call" }, { limit: 5 })).toEqual([]);
});

test("move says what it has moved, what it takes, and when it can't", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const terminal = recordingTerminal();
  const config = testConfig({ DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}` });
  expect(await move({ config, terminal }, { to: "mysql://somewhere/else" })).toBe(2);
  expect(await move({ config: { ...config, databaseFile: undefined }, terminal }, { to: url })).toBe(2);
  expect(await move({ config, terminal }, { to: url })).toBe(3);
  expect(terminal.said.splice(0)).toEqual([
    expect.stringContaining("--to takes the address of a PostgreSQL database"),
    expect.stringContaining("in PostgreSQL already"),
    expect.stringContaining("there is no inbox at"),
  ]);
  const sqlite = await openConfigured(config);
  await sqlite.intake.accept([newEvent()]);
  await sqlite.close();
  const nobody = { to: "postgres://127.0.0.1:1/nobody" };
  expect(await orComplain(terminal, async () => move({ config, terminal }, nobody))).toBe(3);
  expect(terminal.said.splice(0)).toEqual([expect.stringContaining("cannot open the database")]);
  expect(await move({ config, terminal }, { to: url })).toBe(0);
  expect(terminal.printed.splice(0)).toEqual([
    "0 events moved, 0 were there already.",
    "0 compared with their originals, 0 differ.",
    "1 are not handled yet, and stay with this receiver until the end.",
  ]);
  expect(await move({ config, terminal }, { to: url, finish: true, json: true })).toBe(0);
  expect(JSON.parse(terminal.printed.splice(0).join(""))).toEqual({
    moved: 1,
    already_there: 0,
    waiting: 0,
    handed_over: 1,
    compared: 1,
    different: [],
  });
  await expect(openConfigured(config)).rejects.toThrow("set DATABASE_URL");
});

test("move says how many differ, and names the first of them", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const terminal = recordingTerminal();
  const config = testConfig({ DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}` });
  const events = newEvents(22);
  const sqlite = await openConfigured(config);
  await sqlite.intake.accept(events);
  await sqlite.close();
  const postgres = await opened(url);
  await postgres.intake.accept(events.map((event) => ({ ...event, body: Buffer.from("{}") })));
  expect(await move({ config, terminal }, { to: url, finish: true })).toBe(1);
  expect(terminal.printed).toEqual([
    "0 events moved, 22 were there already.",
    "22 compared with their originals, 22 differ.",
    ...events.slice(0, 20).map(({ id }) => `  ${id}`),
    "0 were not handled yet, and will be there.",
  ]);
});

test("an event that comes while PostgreSQL is away is answered 503, and taken when it is back", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  const proxy = await proxyTo(url);
  const receiver = await startTestReceiver({ environment: { DATABASE_URL: proxy.url } });
  const [first, second] = [newBody(), newBody()];
  expect((await post(receiver.url, first)).status).toBe(200);
  proxy.setAway(true);
  const refused = await post(receiver.url, second);
  expect({ status: refused.status, retryAfter: refused.headers.get("retry-after") }).toEqual({
    status: 503,
    retryAfter: expect.stringMatching(/^[0-9]+$/),
  });
  const isReady = async (): Promise<boolean> => (await get(new URL("/readyz", receiver.url))).status === 200;
  await until(isReady, (ready) => !ready);
  proxy.setAway(false);
  await until(isReady, (ready) => ready);
  expect(await (await post(receiver.url, second)).json()).toEqual({ received: true, duplicate: false });
  expect(await (await post(receiver.url, first)).json()).toEqual({ received: true, duplicate: true });
});

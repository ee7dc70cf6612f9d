import Database from "better-sqlite3";
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { newEvent } from "./engine-suite/harness.ts";
import { get, idOf, newBody, newEventId, post } from "./helpers/events.ts";
import { runCommand } from "./helpers/process.ts";
import { examine } from "../../receiver/operations/doctor.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

/** A database in trouble: 503 and nothing half stored, the event loop free, and no restart needed once it is over. */

describe("a database that another process holds", () => {
  test("is waited for without blocking anybody, then answered with 503, then used again", async () => {
    const { url, config, engine } = await startTestReceiver();
    const other = new Database(config.databaseFile);
    other.exec("BEGIN IMMEDIATE");
    const body = newBody();
    const waiting = post(url, body);
    const health = await get(new URL("/healthz", url));
    expect(health.status).toBe(200);
    const answer = await waiting;
    expect(answer.status).toBe(503);
    expect(await engine.ledger.find(idOf(body))).toBeUndefined();
    other.exec("ROLLBACK");
    other.close();
    expect((await post(url, body)).status).toBe(200);
  });
});

/** An engine whose writer gets into trouble, until the file `over` exists. */
async function openTroubled(trouble: string) {
  const directory = temporaryDirectory();
  const over = join(directory, "over");
  process.env["TROUBLE"] = trouble;
  process.env["TROUBLE_OVER"] = over;
  onTestFinished(() => {
    delete process.env["TROUBLE"];
    delete process.env["TROUBLE_OVER"];
  });
  const engine = await openSqliteEngine({
    file: join(directory, "receiver.db"),
    clock: systemClock,
    writerThreadFile: new URL("./troubled-writer-thread.ts", import.meta.url),
  });
  onTestFinished(engine.close);
  return { engine, over };
}

describe.for([
  ["full", "full"],
  ["read-only", "read_only"],
] as const)("a database that is %s", ([trouble, reason]) => {
  test("takes nothing, says so, and is used again when it is mended", async () => {
    const { engine, over } = await openTroubled(trouble);
    const event = () => ({
      id: newEventId(),
      type: "t",
      objectId: null,
      source: "webhook" as const,
      trace: null,
      body: Buffer.alloc(50_000, "x"),
    });
    const stored: string[] = [];
    const refused: string[] = [];
    const reasons = new Set<string>();
    for (let sent = 0; sent < 10; sent += 1) {
      const one = event();
      const result = await engine.intake.accept([one]);
      (result.ok ? stored : refused).push(one.id);
      if (!result.ok) reasons.add(result.reason);
    }
    expect([...reasons]).toEqual([reason]);
    for (const id of stored) expect(await engine.ledger.find(id)).toMatchObject({ state: "pending" });
    for (const id of refused) expect(await engine.ledger.find(id)).toBeUndefined();
    expect(await engine.ledger.check!()).toEqual([]);

    writeFileSync(over, "");
    const late = event();
    await until(
      async () => engine.intake.accept([late]),
      ({ ok }) => ok,
    );
    expect(await engine.ledger.find(late.id)).toBeDefined();
  });
});

describe.each([
  ["dies", "The thread ended.", "is followed by another"],
  ["has a bug", "a bug in the writer", "goes on with the next"],
])("a writer thread that %s", (trouble, detail, then) => {
  test(`leaves what it had in hand of unknown outcome, and ${then}`, async () => {
    const { engine, over } = await openTroubled(trouble.split(" ").at(-1)!);
    expect(await engine.intake.probe()).toEqual({ ok: true });
    writeFileSync(over, "");
    expect(await engine.intake.accept([newEvent(), newEvent()])).toEqual({
      ok: false,
      reason: "outcome_unknown",
      detail,
    });
    rmSync(over);
    expect(await engine.intake.accept([newEvent()])).toMatchObject({ ok: true });
    expect((await engine.ledger.counts()).byState).toMatchObject({ pending: 1 });
  });
});

// Windows lets nobody move a file that is open.
test.skipIf(process.platform === "win32")(
  "an inbox file that was moved away takes nothing more until it is back: what it took would be gone with the process",
  async () => {
    const { url, engine, config } = await startTestReceiver();
    const { databaseFile = "" } = config;
    expect((await post(url, newBody())).status).toBe(200);
    renameSync(databaseFile, `${databaseFile}.away`);
    expect((await post(url, newBody())).status).toBe(503);
    expect(await engine.intake.probe()).toMatchObject({
      ok: false,
      reason: "read_only",
      detail: expect.stringContaining("moved, deleted or replaced while it was open"),
    });
    // Another file of its name is not it.
    copyFileSync(`${databaseFile}.away`, databaseFile);
    expect((await post(url, newBody())).status).toBe(503);
    renameSync(`${databaseFile}.away`, databaseFile);
    const body = newBody();
    expect((await post(url, body)).status).toBe(200);
    expect(await engine.ledger.find(idOf(body))).toMatchObject({ id: idOf(body) });
  },
);

describe("a disk below the low-water mark", () => {
  test("is refused at the door and seen by the readiness check, while the process stays alive", async () => {
    const { url, engine } = await startTestReceiver({
      environment: { MIN_FREE_DISK_BYTES: String(Number.MAX_SAFE_INTEGER) },
    });
    const ready = await until(
      async () => get(new URL("/readyz", url)),
      ({ status }) => status === 503,
    );
    expect(await ready.json()).toMatchObject({ checks: { disk: "below the low-water mark" } });
    const body = newBody();
    const answer = await post(url, body);
    expect({ status: answer.status, retryAfter: answer.headers.get("retry-after") }).toEqual({
      status: 503,
      retryAfter: "5",
    });
    expect(await engine.ledger.find(idOf(body))).toBeUndefined();
    expect((await get(new URL("/healthz", url))).status).toBe(200);
  });
});

describe("a damaged file", () => {
  const start = async (damage: (file: string) => void) => {
    const file = join(temporaryDirectory(), "receiver.db");
    const engine = await openSqliteEngine({ file, clock: systemClock });
    await engine.intake.accept(
      Array.from({ length: 50 }, () => ({
        id: newEventId(),
        type: "t",
        objectId: null,
        source: "webhook" as const,
        trace: null,
        body: Buffer.alloc(5_000, "x"),
      })),
    );
    await engine.close();
    damage(file);
    return file;
  };

  test.for<[string, (file: string) => void]>([
    [
      "that is no database",
      (file) => writeFileSync(file, "this was a database once, and is a letter now".repeat(100)),
    ],
    ["of a newer receiver", (file) => new Database(file).pragma("user_version = 99")],
  ])("%s stops the start with one line that says what to do", async ([, damage]) => {
    const file = await start(damage);
    const { code, stderr } = await runCommand(["start"], {
      SIGNING_SECRET: "s",
      DATABASE_URL: `sqlite:${file}`,
    });
    expect(code).toBe(3);
    expect(stderr.trim().split("\n")).toEqual([
      expect.stringMatching(/^voice-agent-receiver: cannot open the database: /),
    ]);
  });

  test.for<[string, (file: string) => void]>([
    [
      "whose pages were overwritten",
      (file) => {
        const size = readFileSync(file).length;
        const descriptor = openSync(file, "r+");
        for (let at = 81_920; at < size; at += 4_096)
          writeSync(descriptor, Buffer.alloc(2_000, 0xab), 0, 2_000, at);
        closeSync(descriptor);
      },
    ],
    ["cut short", (file) => truncateSync(file, 20_000)],
  ])("%s is found by the check, or refuses to open", async ([, damage]) => {
    const file = await start(damage);
    const findings = await (async () => {
      const engine = await openSqliteEngine({ file, clock: systemClock });
      onTestFinished(engine.close);
      return engine.ledger.check!();
    })().catch((error: unknown) => [String(error)]);
    expect(findings.length).toBeGreaterThan(0);
  });

  test("refuses events as corrupt, and the doctor says what to do", async () => {
    // The index that recognises a duplicate: every new event goes into it.
    const file = await start((whole) => {
      const db = new Database(whole, { readonly: true });
      const page = db.prepare<[], number>(
        "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_events_1'",
      );
      const at = (page.pluck().get()! - 1) * 8_192;
      db.close();
      const descriptor = openSync(whole, "r+");
      writeSync(descriptor, Buffer.alloc(8_192, 0xab), 0, 8_192, at);
      closeSync(descriptor);
    });
    const engine = await openSqliteEngine({ file, clock: systemClock });
    onTestFinished(engine.close);
    expect(await engine.intake.accept([newEvent()])).toMatchObject({ ok: false, reason: "corrupt" });
    const config = testConfig({ DATABASE_URL: `sqlite:${file}` });
    const findings = await examine({ config, engine, api: undefined, environment: {} });
    const ofDatabase = findings.filter(({ check, level }) => check === "database" && level === "problem");
    expect(ofDatabase.length).toBeGreaterThan(0);
    for (const { message } of ofDatabase) expect(message).toContain("restore both files from one backup");
  });

  test("of another inbox is refused, so that no event is passed over", async () => {
    const one = await start(() => undefined);
    const other = await start(() => undefined);
    writeFileSync(other.replace(".db", ".work.db"), readFileSync(one.replace(".db", ".work.db")));
    await expect(openSqliteEngine({ file: other, clock: systemClock })).rejects.toThrow("does not belong to");
  });
});

test("a backup made while events come in can be restored", async () => {
  const { engine, url, config } = await startTestReceiver();
  const before = newBody();
  await post(url, before);
  const directory = temporaryDirectory();
  await engine.ledger.backup!(directory);
  await post(url, newBody());
  const file = join(directory, config.databaseFile!.split("/").at(-1)!);
  const restored = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(restored.close);
  expect(await restored.ledger.check!()).toEqual([]);
  expect(await restored.ledger.find(idOf(before))).toMatchObject({ state: "pending" });
});

import Database from "better-sqlite3";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sampleEnvelope } from "../../shared/samples.ts";
import { DELIVERY_TABLES } from "../../simulator/domain/schema.ts";
import { WORLD_MIGRATIONS } from "../../simulator/domain/world/schema.ts";
import { emit, openSimulator, temporaryDirectory } from "../helpers/simulator.ts";

/** A data file as the first release wrote it: an event with deliveries that ended, and one that was killed meanwhile. */
function writeFirstVersion(file: string): void {
  const database = new Database(file);
  for (const tables of [DELIVERY_TABLES, WORLD_MIGRATIONS]) database.exec(tables);
  database.pragma("user_version = 1");
  const envelope = sampleEnvelope("order.created");
  database
    .prepare(
      "INSERT INTO endpoints (id, url, event_types, secret, faults, created_at) VALUES (?, ?, ?, ?, ?, 1)",
    )
    .run("ep_1", "https://example.com/", "[]", "whsec_test", "[]");
  database
    .prepare(
      "INSERT INTO events (id, type, org_id, created_at, origin, body) VALUES (?, ?, ?, 1, 'world', ?)",
    )
    .run(envelope.id, envelope.type, envelope.org_id, Buffer.from(JSON.stringify(envelope)));
  // Ids lie in another order than the rows.
  for (const [index, state] of ["delivered", "dead", "attempting"].entries()) {
    const id = `dlv_${"cab"[index]}`;
    database
      .prepare(
        `INSERT INTO deliveries (id, event_id, endpoint_id, state, created_at, faults, attempts_made)
        VALUES (?, ?, ?, ?, 1, '[]', 1)`,
      )
      .run(id, envelope.id, "ep_1", state);
  }
  database.exec(`INSERT INTO attempts (delivery_id, number, scheduled_at, started_at, wall_started_at,
    signature_timestamp, request_headers) SELECT id, 1, 2, 3, 4, 5, '{"a":"b"}' FROM deliveries ORDER BY id`);
  database.exec(`UPDATE attempts SET ended_at = 6, duration_ms = 7, http_status = 200, answer_headers = '{"c":"d"}',
    answer_body = x'6869', answer_truncated = 1 WHERE delivery_id = 'dlv_c'`);
  database.exec(`UPDATE attempts SET ended_at = 8, error = 'dns', error_detail = 'none', request_body = x'6869'
    WHERE delivery_id = 'dlv_a'`);
  database.close();
}

test("a data file of the first release is brought up to date: types, summaries, counts and attempts are there", () => {
  const dataFile = join(temporaryDirectory(), "old.db");
  writeFirstVersion(dataFile);
  const { deliveries: verbs, counts } = openSimulator({ dataFile });
  const { deliveries } = verbs.page({ limit: 10, type: "order.created" });
  expect(deliveries.map(({ id, state }) => [id, state])).toEqual([
    ["dlv_b", "attempting"],
    ["dlv_a", "dead"],
    ["dlv_c", "delivered"],
  ]);
  expect(deliveries[0]?.summary).toMatch(/ ordered .+ · /);
  expect(counts.deliveries().byState).toEqual({ attempting: 1, delivered: 1, dead: 1 });
  expect(counts.events()).toEqual({ total: 1, byType: new Map([["order.created", 1]]) });

  const begun = {
    number: 1,
    scheduledAtMs: 2,
    startedAtMs: 3,
    wallStartedAtMs: 4,
    signatureTimestamp: 5,
    requestHeaders: { a: "b" },
  };
  const answer = { headers: { c: "d" }, body: Buffer.from("hi"), truncated: true };
  expect(verbs.attempts("dlv_c")).toMatchObject([
    {
      ...begun,
      deliveryId: "dlv_c",
      endedAtMs: 6,
      durationMs: 7,
      httpStatus: 200,
      requestBody: null,
      answer,
    },
  ]);
  expect(verbs.attempts("dlv_a")).toMatchObject([
    {
      ...begun,
      endedAtMs: 8,
      error: "dns",
      errorDetail: "none",
      requestBody: Buffer.from("hi"),
      answer: null,
    },
  ]);
  expect(verbs.attempts("dlv_b")).toMatchObject([{ ...begun, error: "interrupted", httpStatus: null }]);
  expect(deliveries.map(({ attempts }) => attempts.map((attempt) => attempt.deliveryId))).toEqual([
    ["dlv_b"],
    ["dlv_a"],
    ["dlv_c"],
  ]);
});

test("an option that a data file has settled already is said to have no effect", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const first = openSimulator({ dataFile, calls: 40 });
  expect(first.notes).toEqual([]);
  await first.close();
  const same = openSimulator({ dataFile, calls: 40 });
  expect(same.notes).toEqual([]);
  await same.close();
  const { notes } = openSimulator({ dataFile, calls: 50, organizations: 4 });
  expect(notes).toEqual([
    expect.stringMatching(/^--calls 50 has no effect: .* was begun with 40\./),
    expect.stringMatching(/^--organizations 4 has no effect: .* was begun with 2\./),
  ]);
});

const FILES = "/proc/self/fd";

/** The files that this process holds and that nobody finds any more, where the machine tells. */
function temporaryFiles(): string[] {
  return readdirSync(FILES)
    .map((name) => readlinkIfThere(`${FILES}/${name}`))
    .filter((path) => path.endsWith(" (deleted)"));
}

function readlinkIfThere(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

test("without a file, a process that runs for days has a temporary one, which nobody else sees", async () => {
  const before = existsSync(FILES) ? temporaryFiles() : [];
  const [simulator, short] = [openSimulator({ isLongLived: true }), openSimulator()];
  for (const one of [simulator, short]) emit(one, "call.completed", 4_000);
  expect(simulator.counts.events().total).toBe(4_000);
  // Other machines do not tell which files a process holds.
  if (!existsSync(FILES)) return;
  expect(temporaryFiles()).toHaveLength(before.length + 1);
  await simulator.close();
  expect(temporaryFiles()).toEqual(before);
});

test("a data file of a newer release is refused, in words", () => {
  const dataFile = join(temporaryDirectory(), "new.db");
  const database = new Database(dataFile);
  database.pragma("user_version = 1000");
  database.close();
  expect(() => openSimulator({ dataFile })).toThrow(/newer version/);
});

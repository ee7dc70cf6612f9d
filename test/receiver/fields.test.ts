import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { loadConfig, type Config } from "../../receiver/config.ts";
import type { InboxEvent } from "../../receiver/engine.ts";
import type { Receipt } from "../../receiver/intake/inbox.ts";
import { presentEvent } from "../../receiver/operations/present.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { createRequestLog } from "../../receiver/operations/request-log.ts";
import { RestError } from "../../receiver/operations/rest-client.ts";

/** Each field of what is set, shown and logged, against what it should be: names, units, bounds and where it comes from. */

const NUMBERS: [string, keyof Config, unitsOfOne: number, least: number, most: number, usual: number][] = [
  ["PORT", "port", 1, 0, 65_535, 3_000],
  ["ADMIN_PORT", "adminPort", 1, 0, 65_535, 3_001],
  ["WORKER_CONCURRENCY", "workerConcurrency", 1, 1, 1_000, 8],
  ["HANDLER_TIMEOUT_SECONDS", "handlerTimeoutMs", 1_000, 1, 86_400, 60],
  ["HANDLER_MEMORY_MEGABYTES", "handlerMemoryMegabytes", 1, 64, 65_536, 512],
  ["MAX_ATTEMPTS", "maximumAttempts", 1, 1, 100, 10],
  ["MAX_AGE_HOURS", "maximumAgeMs", 3_600_000, 1, 8_760, 72],
  ["MAX_BODY_BYTES", "maxBodyBytes", 1, 1_024, 16_777_216, 1_048_576],
  ["RETENTION_DAYS", "retentionDays", 1, 1, 400, 30],
  ["ID_RETENTION_DAYS", "idRetentionDays", 1, 30, 3_650, 400],
  ["MIN_FREE_DISK_BYTES", "minimumFreeBytes", 1, 0, Number.MAX_SAFE_INTEGER, 67_108_864],
  ["SHUTDOWN_TIMEOUT_SECONDS", "shutdownTimeoutMs", 1_000, 1, 3_600, 15],
];

test.each(NUMBERS)("%s is read as %s, of %i units, from %i to %i, and is %i unless set", (...row) => {
  const [name, field, units, least, most, usual] = row;
  const read = (text?: string): unknown => {
    const loaded = loadConfig({ SIGNING_SECRET: "s", ...(text === undefined ? {} : { [name]: text }) });
    return loaded.ok ? loaded.config[field] : loaded.problems.join("\n");
  };
  expect(read()).toBe(usual * units);
  for (const value of [least, least + 1, most]) expect(read(String(value))).toBe(value * units);
  const refused = [String(least - 1), "1.5", "1e3", "0x10", "ten", "-1", " 5", "+5"];
  if (most < Number.MAX_SAFE_INTEGER) refused.push(String(most + 1));
  for (const text of refused) expect(read(text)).toEqual(expect.stringContaining(name));
});

test.each<[string, keyof Config, string[], string]>([
  ["RECEIVER_ROLE", "role", ["all", "ingest", "worker"], "all"],
  ["LOG_LEVEL", "logLevel", ["trace", "debug", "info", "warn", "error", "silent"], "info"],
  ["POSTGRES_BACKEND", "postgresBackend", ["postgres", "cockroachdb", "yugabytedb", "citus"], "postgres"],
  ["DATABASE_SCHEMA", "databaseSchema", ["a", "_x9", "receiver_staging", "a".repeat(40)], "receiver"],
  ["WEBHOOK_PATH", "webhookPath", ["/", "/webhooks/", "/a-b_c.d~e/9", "/healthz/", "/Readyz"], "/webhooks"],
  ["HOST", "host", ["0.0.0.0", "::"], "127.0.0.1"],
])("%s takes its words as %s, and no others", (name, field, words, usual) => {
  const read = (text?: string): unknown => {
    const loaded = loadConfig({ SIGNING_SECRET: "s", ...(text === undefined ? {} : { [name]: text }) });
    return loaded.ok ? loaded.config[field] : loaded.problems;
  };
  expect(read()).toBe(usual);
  expect(read("")).toBe(usual);
  for (const word of words) expect(read(word)).toBe(word);
  if (name === "HOST") return;
  const wrong = ["/healthz", "/readyz", "webhooks?", "/a b", "A-B", "9a", "a".repeat(41), " all"];
  for (const word of wrong) expect(read(word)).toEqual([expect.stringMatching(new RegExp(`^${name}: `))]);
});

test.each([
  ["sqlite:data/x.db", { databaseFile: "data/x.db", databaseUrl: undefined }],
  ["sqlite:/var/x.db", { databaseFile: "/var/x.db", databaseUrl: undefined }],
  ["sqlite:///var/x.db", { databaseFile: "/var/x.db", databaseUrl: undefined }],
  ["postgres://u:p@h:5432/d", { databaseFile: undefined, databaseUrl: "postgres://u:p@h:5432/d" }],
  ["postgresql://h/d", { databaseFile: undefined, databaseUrl: "postgresql://h/d" }],
  ["sqlite:", undefined],
  ["sqlite::memory:", undefined],
  ["postgres:// h", undefined],
  ["mysql://h/d", undefined],
  ["receiver.db", undefined],
])("the database %s is understood as %j", (url, expected) => {
  const loaded = loadConfig({ SIGNING_SECRET: "s", DATABASE_URL: url });
  const refused = { ok: false, problems: [expect.stringMatching(/^DATABASE_URL: /)] };
  expect(loaded).toMatchObject(expected === undefined ? refused : { ok: true, config: expected });
});

/** A moment of its own for each field. */
const at = (minute: number): number => Date.UTC(2026, 0, 31, 12, minute);
const iso = (minute: number): string => `2026-01-31T12:${String(minute).padStart(2, "0")}:00.000Z`;

test("an event is shown with each of its fields under its own name", () => {
  const event: InboxEvent = {
    seq: 7,
    id: "evt_1",
    type: "call.completed",
    state: "pending",
    source: "webhook",
    attempts: 3,
    handled: 1,
    duplicates: 2,
    receivedAtMs: at(1),
    finishedAtMs: at(2),
    nextAttemptAtMs: at(3),
    deferredUntilMs: at(4),
    lastError: "an error",
    jobs: [
      {
        handler: "pos",
        state: "dead",
        attempts: 5,
        handled: 0,
        lastError: "its error",
        nextAttemptAtMs: at(5),
        deferred: true,
        finishedAtMs: at(6),
      },
    ],
  };
  expect(presentEvent(event)).toEqual({
    id: "evt_1",
    type: "call.completed",
    state: "pending",
    attempts: 3,
    handled: 1,
    duplicates: 2,
    source: "webhook",
    received_at: iso(1),
    finished_at: iso(2),
    next_attempt_at: iso(3),
    deferred_until: iso(4),
    last_error: "an error",
    jobs: [
      {
        handler: "pos",
        state: "dead",
        attempts: 5,
        handled: 0,
        deferred: true,
        next_attempt_at: iso(5),
        finished_at: iso(6),
        last_error: "its error",
      },
    ],
    seq: 7,
  });
  const bare = { ...event, type: null, finishedAtMs: null, nextAttemptAtMs: null, deferredUntilMs: null };
  const shown = presentEvent(bare);
  expect(shown).toMatchObject({ type: null, finished_at: null, next_attempt_at: null });
  expect(shown).not.toHaveProperty("deferred_until");
});

const STORED = { id: "evt_1", type: "call.completed", secretIndex: 0 };

test.each<[string, Receipt | undefined, Record<string, unknown>]>([
  ["stored", { kind: "stored", ...STORED }, { result: "stored", event_id: "evt_1", type: "call.completed" }],
  [
    "duplicate",
    { kind: "duplicate", ...STORED, type: "made.up", differs: { storedSha256: "aa", receivedSha256: "bb" } },
    { result: "duplicate", event_id: "evt_1", type: "other", stored_sha256: "aa", received_sha256: "bb" },
  ],
  ["invalid_signature", { kind: "invalid_signature", reason: "no_match" }, { reason: "no_match" }],
  ["invalid_json", { kind: "invalid_json", message: "no JSON" }, { reason: "no JSON" }],
  ["invalid_event", { kind: "invalid_event", message: "no event" }, { reason: "no event" }],
  ["unavailable", { kind: "unavailable", reason: "full", detail: "d" }, { reason: "full", detail: "d" }],
  ["refused", undefined, { reason: "encoding.unsupported" }],
])("the line of a request that is %s says what is known of it, and nothing else", (result, receipt, more) => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "debug",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  createRequestLog({ log, clock: systemClock })({
    method: "POST",
    path: "/webhooks",
    id: "request 1",
    status: 200,
    durationMs: 12.3456,
    receipt,
    refused: receipt === undefined ? "encoding.unsupported" : undefined,
  });
  expect(lines).toEqual([
    {
      level: "info",
      time: expect.any(String),
      method: "POST",
      path: "/webhooks",
      status: 200,
      request_id: "request 1",
      duration_ms: 12.3,
      result,
      ...more,
      msg: "answered",
    },
  ]);
});

test.each([
  [401, "Check API_KEY."],
  [400, "Check API_BASE_URL, and whether the service is up."],
  [403, "Check API_BASE_URL, and whether the service is up."],
  [404, "Check API_BASE_URL, and whether the service is up."],
  [500, "Check API_BASE_URL, and whether the service is up."],
  [undefined, "Check API_BASE_URL, and whether the service is up."],
])("of an answer with status %s it is said what to do", (status, advice) => {
  for (const message of ["It went wrong", "It went wrong."]) {
    const error = new RestError({ ...(status === undefined ? {} : { status }), code: "x", message });
    expect(error.explanation).toBe(`It went wrong. ${advice}`);
  }
});

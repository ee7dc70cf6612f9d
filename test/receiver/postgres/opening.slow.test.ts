import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { PACKAGES_MISSING } from "../../../receiver/engines/postgres/room.ts";
import { administer, databaseUrl, newDatabase, sharedServer } from "../../helpers/postgres/shared.ts";
import { RUN_TYPESCRIPT } from "../../helpers/typescript.ts";
import type { Claim, Outcome } from "../../../receiver/engine.ts";
import { accept, done, newEvent, newEvents } from "../engine-suite/harness.ts";
import { MAIN, runCommand } from "../helpers/process.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

const DROP =
  "DROP SCHEMA receiver CASCADE; DROP SCHEMA receiver_boss CASCADE; DROP SCHEMA receiver_handlers CASCADE";

test("ten processes that start at once on an empty database migrate it once", async () => {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  await administer(url, DROP);
  const engines = await Promise.all(Array.from({ length: 10 }, async () => opened(url)));
  await accept(engines[9]!, [newEvent()]);
  expect((await engines[0]!.ledger.counts()).byState.pending).toBe(1);
});

test.for([
  ["cockroachdb", { kind: "r", listeners: 0 }],
  ["yugabytedb", { kind: "r", listeners: 2 }],
  ["citus", { kind: "p", listeners: 2 }],
] as const)(
  "with the profile of %s, here on PostgreSQL, pg-boss's tables are of its kind, and jobs are handled in order",
  async ([profile, expected]) => {
    const { url, rows } = await postgresBackend();
    await administer(url, DROP);
    const [engine, other] = [
      await opened(url, { postgresBackend: profile }),
      await opened(url, { postgresBackend: profile }),
    ];
    const events = newEvents(30);
    await accept(engine, events);
    const begun: string[] = [];
    const begin = async ({ id }: Claim): Promise<Outcome> => {
      begun.push(id);
      return { kind: "done" };
    };
    await driven(engine, begin, { key: () => "one" });
    await driven(other, begin, { key: () => "one", workerId: "other" });
    await until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.done === events.length,
    );
    expect(begun).toEqual(events.map(({ id }) => id));
    const [found] = await until(
      () => rows(KIND_AND_LISTENERS),
      ([row]) => row?.["listeners"] === expected.listeners,
    );
    expect(found).toEqual(expected);
  },
);

const KIND_AND_LISTENERS = `
  SELECT relkind AS kind, (SELECT count(*)::int FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%') AS listeners
  FROM pg_class WHERE oid = 'receiver_boss.job'::regclass`;

test("a worker that is started once a newer receiver has upgraded the tables says so and ends, and changes nothing", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const { processor } = await driven(engine, done, { name: "newer" });
  await processor.drain(0);
  await accept(engine, [newEvent()]);
  await administer(url, "UPDATE receiver.migrations SET applied = 1000 WHERE name = 'receiver'");
  const all = async () =>
    rows("SELECT name, current, state::text FROM receiver.handlers JOIN receiver_boss.job USING (name)");
  const before = await all();
  const { code, stderr } = await runCommand(["start"], { DATABASE_URL: url, RECEIVER_ROLE: "worker" });
  expect(stderr).toContain("was made by a newer receiver");
  expect(stderr).toContain("update this one");
  expect(code).toBe(3);
  expect(await all()).toEqual(before);
  expect(before).toEqual([{ name: "newer", current: true, state: "created" }]);
});

test("a database that can't hold every character is refused, and one in UTF8 asked for", async () => {
  const server = await sharedServer();
  const name = `latin1_${randomBytes(8).toString("hex")}`;
  await administer(server, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  onTestFinished(async () => administer(server, `DROP DATABASE ${name} WITH (FORCE)`));
  await expect(opened(databaseUrl(server, name))).rejects.toThrow(/LATIN1.* whose encoding is UTF8/);
});

test("jobs in tables of a newer pg-boss are refused", async () => {
  const { url } = await postgresBackend();
  await administer(url, "UPDATE receiver_boss.version SET version = version + 1");
  await expect(opened(url)).rejects.toThrow(/newer pg-boss \(schema 41, .*update this receiver/);
});

test.for([
  ["events", "receiver", "CREATE TABLE receiver.events (id bigint)"],
  ["migrations", "receiver", "CREATE TABLE receiver.migrations (id integer, at timestamptz)"],
  [
    "migrations with our columns",
    "receiver",
    "CREATE TABLE receiver.migrations (name text, applied text); INSERT INTO receiver.migrations VALUES ('theirs', 'x')",
  ],
  ["jobs", "receiver_boss", "CREATE TABLE receiver_boss.job (id bigint)"],
])(
  "another program's table of %s is left alone, and a schema of its own advised",
  async ([, schema = "", sql = ""]) => {
    const { url, rows } = await postgresBackend();
    await administer(url, `${DROP}; CREATE SCHEMA ${schema}; ${sql}`);
    await expect(opened(url)).rejects.toThrow(
      new RegExp(`In schema ${schema} .*another program's tables .*DATABASE_SCHEMA`),
    );
    expect(
      await rows(`SELECT count(*)::int AS columns FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
        WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND attnum > 0`),
    ).toEqual([{ columns: /, /.test(sql) ? 2 : 1 }]);
    await accept(await opened(url, { databaseSchema: "voice_agent" }), [newEvent()]);
  },
);

test.for([
  ["a new database", "SELECT 1"],
  [
    "one of the version before",
    "ALTER TABLE receiver.facts DROP COLUMN one; ALTER TABLE receiver.handlers DROP COLUMN seen; UPDATE receiver.migrations SET applied = 4 WHERE name = 'receiver'",
  ],
])(
  "%s whose changes are published, as for an upgrade of PostgreSQL, is taken and pruned",
  async ([, former]) => {
    const { url, age } = await postgresBackend();
    await administer(url, `${former}; CREATE PUBLICATION everything FOR ALL TABLES`);
    const engine = await opened(url, { signingSecrets: ["whsec_whose_inbox_it_is"] });
    const { handled } = await driven(engine, done);
    await accept(engine, [newEvent()]);
    await until(
      () => handled,
      ({ length }) => length === 1,
    );
    await age?.(10_000);
    expect(await engine.ledger.prune({ bodiesOlderThanMs: 5_000, idsOlderThanMs: 1e9 })).toEqual({
      bodies: 1,
      ids: 0,
    });
  },
);

test("retention has pg-boss look after its tables, at most once an hour", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const { processor } = await driven(engine, done);
  await processor.drain(0);
  const looked = async (): Promise<unknown> => (await rows("SELECT monitor_on FROM receiver_boss.queue"))[0];
  expect(await looked()).toEqual({ monitor_on: null });
  const older = { bodiesOlderThanMs: 1e9, idsOlderThanMs: 1e9 };
  await engine.ledger.prune(older);
  const first = await looked();
  expect(first).toEqual({ monitor_on: expect.any(Date) });
  await engine.ledger.prune(older);
  expect(await looked()).toEqual(first);
});

const versions = z.record(z.string(), z.string());
/** In a fork they are no longer optional. */
const packageSchema = z.object({ dependencies: versions, devDependencies: versions });

/** Has a process find nothing where the package is. */
const without = (name: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from "node:module";
    registerHooks({ resolve(specifier, context, next) {
      if (specifier !== "${name}") return next(specifier, context);
      throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    } });`)}`;

test.for(["pg", "pg-boss"])("where %s isn't installed, one line says how to install it", (name) => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [...RUN_TYPESCRIPT, "--import", without(name), MAIN, "inbox", "stats"],
    { encoding: "utf8", env: { PATH: process.env["PATH"], DATABASE_URL: "postgres://127.0.0.1:1/nobody" } },
  );
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(/packages are not installed: npm install pg@[0-9.]+ pg-boss@[0-9.]+$/),
  ]);
  expect(status).toBeGreaterThan(0);
});

test("the packages that it names are those that are tested", () => {
  const { dependencies, devDependencies } = packageSchema.parse(
    JSON.parse(readFileSync("package.json", "utf8")),
  );
  const { pg, "pg-boss": boss } = { ...dependencies, ...devDependencies };
  expect(PACKAGES_MISSING).toContain(`npm install pg@${pg} pg-boss@${boss}`);
});

test("the tests use another server where TEST_DATABASE_URL names one", async () => {
  vi.stubEnv("TEST_DATABASE_URL", "postgres://somewhere/else");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await sharedServer()).toBe("postgres://somewhere/else");
});

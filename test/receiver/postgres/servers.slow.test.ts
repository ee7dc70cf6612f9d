import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { connect } from "node:net";
import { rmSync, mkdtempSync, chmodSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createServer, type PostgresServer } from "../../../tools/postgres-server.ts";
import { freePort } from "../../helpers/free-port.ts";
import { accept, newEvent, newEvents, record } from "../engine-suite/harness.ts";
import { makeDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

const RECORDED = `SELECT count(*)::int AS effects, count(DISTINCT event_id)::int AS events FROM receiver_handlers.effects`;

/** A server that a test may stop, with nobody but itself on it. */
async function ownServer(
  settings: Record<string, string> = {},
  owner = process.pid,
): Promise<{ server: PostgresServer; directory: string }> {
  const directory = makeDirectory();
  chmodSync(directory, 0o755);
  const server = await createServer(join(directory, "primary"), {
    port: await freePort(),
    settings,
    owner,
  });
  onTestFinished(async () => {
    await server.stop("immediate").catch(() => undefined);
    rmSync(directory, { recursive: true, force: true });
  });
  return { server, directory };
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new Client({ connectionString: url });
  // A server that goes between an answer and the farewell breaks nothing that anybody waits for.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}

test("a server that crashes under load has what was acknowledged when it is back, and each effect once", async () => {
  const { server } = await ownServer();
  const engine = await opened(server.url());
  await driven(engine, record);
  const acknowledged = new Set<string>();
  let crashed: Promise<void> | undefined;
  for (let round = 0; round < 40; round += 1) {
    if (round === 10) crashed = server.restart("immediate");
    const batch = newEvents(5);
    const result = await engine.intake.accept(batch);
    if (result.ok) for (const { id } of batch) acknowledged.add(id);
  }
  await crashed;
  await until(
    () => engine.intake.probe(),
    ({ ok }) => ok,
  );
  expect(acknowledged.size).toBeGreaterThanOrEqual(50);
  await until(
    () => engine.ledger.counts().catch(() => undefined),
    (counts) => counts !== undefined && counts.byState.pending + counts.byState.claimed === 0,
  );
  const { effects, events } = await ask(server.url(), RECORDED);
  expect(effects).toBe(events);
  const found = await Promise.all([...acknowledged].map(async (id) => (await engine.ledger.find(id))?.state));
  expect(new Set(found)).toEqual(new Set(["done"]));
});

test("a server of a test ends with the process that wanted it, however that ends", async () => {
  const owner = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void owner.kill("SIGKILL"));
  const { server } = await ownServer({}, owner.pid);
  expect(await ask(server.url(), "SELECT 1 AS one")).toEqual({ one: 1 });
  owner.kill("SIGKILL");
  await until(
    () =>
      ask(server.url(), "SELECT 1").then(
        () => "there",
        () => "gone",
      ),
    (state) => state === "gone",
  );
});

test("a standby that is promoted has what was acknowledged, and doctor's questions are answered on both", async () => {
  const { server, directory } = await ownServer({ synchronous_commit: "on" });
  const first = await opened(server.url());
  await accept(first, newEvents(2));
  await first.close();
  const standby = await server.addStandby(join(directory, "standby"), await freePort());
  onTestFinished(async () => standby.stop("immediate").catch(() => undefined));
  const engine = await opened(server.url());
  const asynchronous = async () =>
    (await engine.ledger.check?.())?.some((finding) => finding.includes("asynchronously"));
  // A standby takes queries before it has connected to its primary.
  await until(asynchronous, (is) => is === true);
  await ask(server.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await ask(server.url(), "SELECT pg_reload_conf()");
  await until(
    () => ask(server.url(), "SELECT sync_state FROM pg_stat_replication"),
    ({ sync_state }) => sync_state === "sync",
  );
  // Each connection reads the new settings by itself.
  await until(asynchronous, (is) => is === false);
  const events = newEvents(20);
  await accept(engine, events);
  await engine.close();

  const other = await opened(standby.url());
  expect(await other.ledger.check?.()).toEqual([expect.stringContaining("standby")]);
  expect(await other.intake.accept([newEvent()])).toMatchObject({ ok: false, reason: "read_only" });
  // What operators read is answered there too.
  const [listed] = await other.ledger.list({ type: "call.completed" }, { limit: 1 });
  expect(listed).toMatchObject({ id: events.at(-1)?.id, state: "pending" });
  expect(await other.ledger.body(listed!.seq)).toEqual(events.at(-1)?.body);
  expect(await other.ledger.find(events[0]!.id)).toMatchObject({ state: "pending" });
  expect((await other.ledger.counts()).byState.pending).toBe(22);
  await server.stop("immediate");
  await standby.promote();
  await ask(standby.url(), "ALTER SYSTEM SET synchronous_standby_names = ''");
  await ask(standby.url(), "SELECT pg_reload_conf()");
  const again = await other.intake.accept(events);
  expect(again.ok && again.acceptances.map(({ duplicate }) => duplicate)).toEqual(events.map(() => true));
  expect(await other.ledger.check?.()).toContainEqual(expect.stringContaining("promoted"));
});

test("where somebody turned synchronous commits off, doctor says so and acknowledgements are synced all the same", async () => {
  const { server } = await ownServer({ synchronous_commit: "off", wal_writer_delay: "10s" });
  const engine = await opened(server.url());
  expect(await engine.ledger.check?.()).toContainEqual(expect.stringContaining("synchronous_commit off"));
  const flushed = `SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AS flushed`;
  await accept(engine, newEvents(3));
  expect(await ask(server.url(), flushed)).toEqual({ flushed: true });
  // The control: a commit as the server is set is not.
  await ask(server.url(), "CREATE TABLE control (number integer)");
  await ask(server.url(), "INSERT INTO control VALUES (1)");
  expect(await ask(server.url(), flushed)).toEqual({ flushed: false });
});

const pgbouncer = spawnSync("sh", ["-c", "command -v pgbouncer || ls /usr/sbin/pgbouncer"])
  .stdout.toString()
  .trim();

test.skipIf(pgbouncer === "")(
  `a pooler in between that gives every transaction to another session${pgbouncer === "" ? " (skipped: there is no pgbouncer on this machine)" : ""}`,
  async () => {
    const { url, rows } = await postgresBackend();
    const target = new URL(url);
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), "pgbouncer-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    chmodSync(directory, 0o755);
    writeFileSync(
      join(directory, "pgbouncer.ini"),
      `[databases]\n* = host=${target.hostname} port=${target.port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${String(port)}\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\ndefault_pool_size = 5\n`,
    );
    const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
    const bouncer = spawn(pgbouncer, [...user, join(directory, "pgbouncer.ini")], { stdio: "ignore" });
    const ended = once(bouncer, "exit");
    onTestFinished(async () => {
      bouncer.kill("SIGTERM");
      await ended;
    });
    const isListening = async (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
        socket.unref();
      });
    await until(isListening, (listening) => listening);
    target.port = String(port);
    const [engine, other] = [await opened(target.href), await opened(target.href)];
    await driven(engine, record, { workerId: "one" });
    await driven(other, record, { workerId: "another" });
    for (let batch = 0; batch < 10; batch += 1) await accept(batch % 2 === 0 ? engine : other, newEvents(20));
    await until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.done === 200,
    );
    expect(await rows(RECORDED)).toEqual([{ effects: 200, events: 200 }]);
    await engine.close();
    await other.close();
  },
);

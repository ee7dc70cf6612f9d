import type { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createBoss } from "../../../receiver/engines/postgres/boss.ts";
import { createClaims } from "../../../receiver/engines/postgres/claims.ts";
import {
  createDatabase,
  createPool,
  naming,
  withClient,
  type Pool,
} from "../../../receiver/engines/postgres/connection.ts";
import { createIntake } from "../../../receiver/engines/postgres/intake.ts";
import { createJobs } from "../../../receiver/engines/postgres/jobs.ts";
import { createLedger } from "../../../receiver/engines/postgres/ledger.ts";
import { createOffers } from "../../../receiver/engines/postgres/offers.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { handler, newEvent, newEvents } from "../engine-suite/harness.ts";
import { postgresBackend } from "./backend.ts";

/** Of each event there are two jobs. */
const MANY = 20_000;
/** More than retention looks at in one go, with its jobs; a tenth of what is there. */
const FEW = 2_000;

test("statements that were planned while there were five rows read few of many", async () => {
  const { url } = await postgresBackend();
  const pool = await poolOn(url);
  const statements = await everyStatement(pool);
  expect(statements.size).toBeGreaterThan(35);
  await withClient(pool, async (client) => {
    // Nobody tells the planner of what comes.
    await client.query(`ALTER TABLE receiver.events SET (autovacuum_enabled = false);
      ALTER TABLE receiver.ids SET (autovacuum_enabled = false); ALTER TABLE receiver.objects SET (autovacuum_enabled = false);
      ALTER TABLE receiver_boss.job_common SET (autovacuum_enabled = false);
      ANALYZE; SET plan_cache_mode = force_generic_plan`);
    const named = [...statements].map(([text, values], n) => ({ text, name: `s${String(n)}`, values }));
    for (const { name, text } of named) await client.query(`PREPARE ${name} AS ${naming("receiver")(text)}`);
    for (const one of named) await readBy(client, one);
    await administer(url, FILL);
    // As autovacuum does.
    await administer(url, "SELECT brin_summarize_new_values('receiver.ids_by_day')");
    const reading: Record<string, number> = {};
    for (const one of named) {
      const rows = await readBy(client, one);
      if (rows > FEW) reading[one.text.replaceAll(/\s+/g, " ").trim().slice(0, 60)] = rows;
    }
    // What counts stops at ten thousand.
    // Old ids are looked for once an hour, by a coarse index that PostgreSQL takes or leaves while there are few.
    const many = Object.keys(reading).filter(
      (text) => !text.startsWith("WITH forgotten AS ( DELETE FROM receiver.ids"),
    );
    expect(many).toEqual([expect.stringContaining("WITH aside AS MATERIALIZED")]);

    // The control: by its type alone no event is found without reading them.
    await client.query("PREPARE control AS SELECT FROM receiver.events WHERE type = $1");
    expect(await readBy(client, { name: "control", values: ["x"] })).toBeGreaterThan(MANY);
  });
});

async function poolOn(url: string): Promise<Pool> {
  const how = { url, schema: "receiver", purpose: "plans", connections: 2, connectTimeoutMs: 5_000 };
  const pool = createPool({ ...how, pipeline: true });
  onTestFinished(async () => pool.end());
  return pool;
}

/** Has everything done that an engine does, with five events, and answers its statements with their last values. */
async function everyStatement(pool: Pool): Promise<Map<string, unknown[]>> {
  const statements = new Map<string, unknown[]>();
  const prepare = (text: string, values: unknown[] = []) => {
    statements.set(text, values);
    return { text: naming("receiver")(text), values };
  };
  const database = createDatabase(pool, prepare);
  const boss = createBoss({ pool, schema: "receiver", backend: "postgres" });
  const intake = createIntake(pool, prepare, "heard");
  const ledger = createLedger(database, boss, "heard");
  const jobs = { ...createJobs(database), ...createClaims(database, boss), ...createOffers(database, boss) };
  const events = newEvents(5, { objectId: "one" });
  expect(await intake.accept([...events, ...events])).toMatchObject({ ok: true });
  const plain = handler({ name: "plain", rateLimit: { limit: 100, perMs: 1_000 } });
  const keyed = handler({ name: "keyed", key: () => "one" });
  await jobs.announce([plain, keyed]);
  await jobs.offer({ waiting: true, gone: true });
  await jobs.keep("worker");
  await jobs.look("worker", [plain, keyed]);
  await jobs.fit(keyed);
  const claimed = await jobs.claim("worker", [], [{ handler: plain, priority: 0, limit: 4 }]);
  const [first] = claimed;
  await jobs.claimOnly("worker", "plain", events[4]!.id);
  await jobs.steps(first!).record("step", "1");
  await jobs.steps(first!).find("step");
  await jobs.isCompleted(first!);
  await Promise.all(
    claimed.map(async ({ handler: of, job, token }) =>
      jobs.settle({ handler: of, job, token, state: "done" }),
    ),
  );
  await jobs.takeOver("other", ["worker"], []);
  await ledger.find(events[0]!.id);
  await ledger.find(newEvent().id);
  await ledger.body(1);
  for (const state of ["pending", "claimed", "dead", "ignored", "done"] as const) {
    await ledger.list({ state }, { limit: 50 });
    await ledger.list({ state, handler: "keyed", type: "call.completed" }, { limit: 50, afterSeq: 0 });
  }
  await ledger.requeue([events[0]!.id], "keyed");
  await ledger.counts();
  await ledger.known("call.completed", ["one"]);
  await ledger.prune({ bodiesOlderThanMs: -1_000, idsOlderThanMs: -86_400_000 });
  await jobs.resign("other");
  return statements;
}

/** Rows that a statement takes from tables, and passes over there; what it does is undone. */
async function readBy(
  client: Pick<Client, "query">,
  { name, values }: { name: string; values: unknown[] },
): Promise<number> {
  await client.query("BEGIN");
  const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
  const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
    `EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE ${name}${given}`,
  );
  await client.query("ROLLBACK");
  return readIn(rows[0]!["QUERY PLAN"][0].Plan);
}

type Node = { "Node Type": string; "Actual Rows": number; "Actual Loops": number; Plans?: Node[] } & Record<
  string,
  unknown
>;

function readIn(node: Node): number {
  const passed =
    Number(node["Rows Removed by Filter"] ?? 0) + Number(node["Rows Removed by Index Recheck"] ?? 0);
  const isScan = "Relation Name" in node && node["Node Type"] !== "ModifyTable";
  const own = isScan ? (node["Actual Rows"] + passed) * node["Actual Loops"] : 0;
  return (node.Plans ?? []).reduce((sum, one) => sum + readIn(one), own);
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (Buffer.isBuffer(value)) return `'\\x${value.toString("hex")}'`;
  if (Array.isArray(value)) return `'{${value.map((one) => JSON.stringify(one)).join(",")}}'`;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Events that are done, each by two handlers. */
const FILL = `
  WITH made AS (SELECT seq, lpad(to_hex(seq), 32, '0')::uuid AS id FROM generate_series(1000, ${String(999 + MANY)}) AS seq),
  ids AS (INSERT INTO receiver.ids (id, seq, day) SELECT id, seq, 30000 FROM made),
  objects AS (INSERT INTO receiver.objects (key, seq, reconciled) SELECT id, seq, true FROM made),
  jobs AS (
    INSERT INTO receiver_boss.job (name, id, state, started_on, completed_on)
    SELECT name, id, 'completed', now(), now() FROM made, unnest(ARRAY['plain', 'keyed']) AS name)
  INSERT INTO receiver.events (seq, id, type, reconciled, received_at, body)
  SELECT seq, id, 'call.completed', false, '2020-01-01', '' FROM made`;

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
    const many = async (): Promise<string[]> => {
      const reading: string[] = [];
      for (const one of named)
        if ((await readBy(client, one)) > FEW)
          reading.push(one.text.replaceAll(/\s+/g, " ").trim().slice(0, 60));
      // Old ids are looked for once an hour, by a coarse index that PostgreSQL takes or leaves while there are few.
      return reading.filter((text) => !text.startsWith("WITH forgotten AS ( DELETE FROM receiver.ids"));
    };
    // What counts stops at ten thousand.
    const counting = expect.stringContaining("WITH aside AS MATERIALIZED");
    expect(await many()).toEqual([counting]);
    // And while all of them wait to be handled, when only an operator's list reads what it passes over.
    await administer(url, ALL_WAIT);
    const whileWaiting = await many();
    expect(whileWaiting.filter((text) => !text.startsWith("SELECT seq, coalesce("))).toEqual([counting]);

    // The control: by its type alone no event is found without reading them.
    await client.query("PREPARE control AS SELECT FROM receiver.events WHERE type = $1");
    expect(await readBy(client, { name: "control", values: ["x"] })).toBeGreaterThan(MANY);
  });
});

test("no statement is compiled: up to PostgreSQL 17 the price of a plan that can't avoid reading a table asks for it", async () => {
  const { url } = await postgresBackend();
  const { rows } = await (await poolOn(url)).query("SHOW jit");
  expect(rows).toEqual([{ jit: "off" }]);
});

test("what ends, and what is taken from the dead, by the hundred is not compared each with each", async () => {
  const { url } = await postgresBackend();
  const pool = await poolOn(url);
  const statements = [...(await everyStatement(pool)).keys()];
  await administer(url, FILL);
  await withClient(pool, async (client) => {
    await client.query("SET plan_cache_mode = force_generic_plan");
    const { rows: held } = await client.query<{ handler: string; job: string; token: string }>(
      CLAIM_HUNDREDS,
    );
    const ended = held.map((claim, n) => ({ ...claim, n, state: "done", delayMs: 0, uncounted: false }));
    const ids = held.map(({ job }) => job);
    const given = new Map<string, unknown[]>([
      ["UPDATE boss.job SET state = (CASE ended.state", [JSON.stringify(ended)]],
      ["AS alone", [JSON.stringify([{ id: "gone", held }]), ["gone"], ids]],
    ]);
    for (const [words, values] of given) {
      const text = statements.find((one) => one.replaceAll(/\s+/g, " ").includes(words)) ?? "";
      await client.query(`PREPARE hundreds AS ${naming("receiver")(text)}`);
      const plan = await planOf(client, { name: "hundreds", values });
      const passedOver = sumOver(plan, (node) => node["Rows Removed by Join Filter"]);
      expect([words, plan["Actual Rows"], passedOver]).toEqual([words, 500, 0]);
      await client.query("DEALLOCATE hundreds");
    }
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
  await jobs.announce("worker", [plain, keyed]);
  await jobs.offer({ waiting: true, gone: true });
  await jobs.keep("worker", [plain, keyed]);
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
async function readBy(client: Pick<Client, "query">, statement: Prepared): Promise<number> {
  return sumOver(await planOf(client, statement), (node) =>
    "Relation Name" in node && node["Node Type"] !== "ModifyTable"
      ? node["Actual Rows"] +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0)
      : 0,
  );
}

type Prepared = { name: string; values: unknown[] };

type Node = Record<"Actual Rows" | "Actual Loops", number> & {
  "Node Type": string;
  "Relation Name"?: string;
  Plans?: Node[];
} & { [Passed in `Rows Removed by ${"Filter" | "Index Recheck" | "Join Filter"}`]?: number };

async function planOf(client: Pick<Client, "query">, { name, values }: Prepared): Promise<Node> {
  await client.query("BEGIN");
  const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
  const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
    `EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE ${name}${given}`,
  );
  await client.query("ROLLBACK");
  return rows[0]!["QUERY PLAN"][0].Plan;
}

/** Of all parts of a plan, with the times that each was run. */
function sumOver(node: Node, count: (node: Node) => number | undefined): number {
  const own = (count(node) ?? 0) * node["Actual Loops"];
  return (node.Plans ?? []).reduce((sum, one) => sum + sumOver(one, count), own);
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

/** The same, before anybody has handled them. */
const ALL_WAIT =
  "UPDATE receiver_boss.job SET state = 'created', started_on = NULL, completed_on = NULL WHERE state = 'completed'";

/** Of the jobs that wait five hundred are begun. */
const CLAIM_HUNDREDS = `
  UPDATE receiver_boss.job SET state = 'active', started_on = now(), completed_on = NULL
  WHERE name = 'plain' AND id IN (SELECT id FROM receiver_boss.job WHERE name = 'plain' AND state = 'completed' LIMIT 500)
  RETURNING name AS handler, id AS job, started_on::text AS token`;

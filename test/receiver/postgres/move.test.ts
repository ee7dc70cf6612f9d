import { describe, expect, test } from "vitest";
import { loadConfig, type Config } from "../../../receiver/config.ts";
import { move } from "../../../receiver/postgres/move.ts";
import { runCommand } from "../helpers/process.ts";
import { accept, claimOne, event, handler, openStore, openWorker } from "../store-suite/harness.ts";
import { sqliteBackend } from "../store/sqlite.ts";
import { openPostgres } from "./backend.ts";
import { newDatabase, noServer, query } from "./server.ts";

const HANDLERS = [
  handler({ types: ["call.completed"] }),
  handler({ name: "by-phone", types: ["order.created"], key: ["data.object.phone"] }),
];

function configOf(file: string): Config {
  const loaded = loadConfig({ DATABASE_URL: `sqlite:${file}` }, { needsSecret: false });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  return loaded.config;
}

test("move without the packages for PostgreSQL says which to install", async () => {
  const source = `import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, on, next) => next(name === "pg" ? "pg-none" : name, on) });`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(source)}`;
  const { code, stderr } = await runCommand(["move", "--to", "postgres://h/db"], { NODE_OPTIONS });
  expect(code).toBe(3);
  expect(stderr).toMatch(/^[^\n]*package 'pg-none'[^\n]* install pg and pg-boss\.\n$/);
});

describe.skipIf(noServer())("move", () => {
  test("copies every event with its jobs, attempts, errors and steps, and work continues", async () => {
    const backend = await sqliteBackend();
    const store = await openWorker(backend, HANDLERS);
    const order = () => event({ type: "order.created", object: { phone: "a" } });
    const fax = event({ type: "fax.received" });
    const ids = await accept(store, event(), event(), event(), order(), order(), fax);
    await accept(store, event({ source: "reconcile", objectId: "call_1" }));
    const late = event({ objectId: "call_1" });
    await accept(store, late);
    await store.jobs.end(await claimOne(store), { kind: "done" });
    await store.jobs.end(await claimOne(store), { kind: "dead", error: "no" });
    const failed = await claimOne(store);
    await store.jobs.recordStep(failed, "charge", '{"n":1}');
    await store.jobs.end(failed, { kind: "failed", error: "busy", delayMs: 0 });
    const before = await Promise.all(ids.map(async (id) => store.ledger.find(id)));
    const { receivedAtMs } = await claimOne(store);
    await store.close();

    const to = await newDatabase();
    const config = configOf(backend.file);
    expect((await move({ config }, { to })).json).toEqual({ events: 7, jobs: 6, steps: 1 });
    const moved = await openPostgres(to);
    expect(await Promise.all(ids.map(async (id) => moved.ledger.find(id)))).toEqual(before);
    const cutOff = { state: "waiting", attempts: 1, nextAttemptAtMs: receivedAtMs };
    expect(await moved.ledger.find(late.id)).toMatchObject(cutOff);

    await moved.jobs.begin(HANDLERS, AbortSignal.timeout(9_000));
    const again = await claimOne(moved);
    expect(again).toMatchObject({ id: failed.id, attempt: 2 });
    expect(await moved.jobs.findStep(again, "charge")).toBe('{"n":1}');
    const [first] = await moved.jobs.claim("by-phone", 9);
    expect(first?.id).toBe(ids[3]);
    expect(await moved.intake.accept([{ ...late, id: late.id }])).toMatchObject({
      acceptances: [{ duplicate: true }],
    });
    expect((await accept(moved, event())).length).toBe(1);
    await moved.close();
  });

  test("continues after the last copied batch, and refuses a database with events", async () => {
    const backend = await sqliteBackend();
    const store = await openStore(backend);
    await accept(store, ...Array.from({ length: 450 }, () => event()));
    await store.close();
    const to = await newDatabase();
    await query(to, "ALTER TABLE receiver.events ADD CONSTRAINT broken CHECK (seq <> 275)");
    const config = configOf(backend.file);
    await expect(move({ config }, { to })).rejects.toThrow(/^the copy stopped: .*broken.*\n.* again: it/);
    await query(to, "ALTER TABLE receiver.events DROP CONSTRAINT broken");
    expect((await move({ config }, { to })).json).toMatchObject({ events: 200 });
    expect(await query(to, "SELECT count(*) AS n FROM receiver.events")).toEqual([{ n: "450" }]);

    await query(to, "DELETE FROM receiver.bookmarks WHERE name = 'moved up to'");
    await expect(move({ config }, { to })).rejects.toThrow(/has events already/);
  });

  test("an address that is wrong is no reason to run it again, and a bug is none of the database's", async () => {
    const backend = await sqliteBackend();
    await (await openWorker(backend, [handler({ name: "not a name" })])).close();
    const [config, to] = [configOf(backend.file), await newDatabase()];
    await expect(move({ config }, { to: `${to}_none` })).rejects.toThrow(/named by --to: [^\n]*_none[^\n]*$/);
    await expect(move({ config }, { to })).rejects.toThrow(
      expect.objectContaining({ name: "AssertionError" }),
    );
  });
});

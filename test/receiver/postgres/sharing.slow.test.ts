import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { examine } from "../../../receiver/operations/doctor.ts";
import { administer } from "../../helpers/postgres/shared.ts";
import { accept, done, newEvent, newEvents, record } from "../engine-suite/harness.ts";
import { get, newBody, post } from "../helpers/events.ts";
import { startTestReceiver } from "../helpers/receiver.ts";
import { until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";

test("a receiver with other secrets is refused, and told how to have an inbox of its own", async () => {
  const { url } = await postgresBackend();
  const production = await opened(url, { signingSecrets: ["production"] });
  await accept(production, [newEvent()]);
  await expect(opened(url, { signingSecrets: ["staging"] })).rejects.toThrow(/DATABASE_SCHEMA/);
  const staging = await opened(url, { signingSecrets: ["staging"], databaseSchema: "receiver_staging" });
  expect((await staging.ledger.counts()).byState.pending).toBe(0);
  // While it is rotated, the old secret is there beside the new one.
  await opened(url, { signingSecrets: ["new", "production"] });
  await opened(url, { signingSecrets: ["new"] });
  await expect(opened(url, { signingSecrets: ["staging"] })).rejects.toThrow(/other signing secrets/);
  // Who has none is a command, or a worker of the same environment.
  await opened(url);
});

test("two inboxes in one database take, handle and move nothing of each other", async () => {
  const { url, rows } = await postgresBackend();
  const engines = [await opened(url), await opened(url, { databaseSchema: "other" })];
  const events = newEvents(20);
  for (const engine of engines) {
    await accept(engine, events);
    await driven(engine, async (claim) => record(claim));
  }
  for (const engine of engines) {
    await until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.done === events.length,
    );
  }
  const count = "SELECT count(*)::int AS effects FROM";
  expect(await rows(`${count} receiver_handlers.effects`)).toEqual([{ effects: 20 }]);
  expect(await rows(`${count} other_handlers.effects`)).toEqual([{ effects: 20 }]);
});

test("tables that handlers make are their own, whatever an application has by the same name", async () => {
  const { url, rows } = await postgresBackend();
  await administer(url, "CREATE TABLE public.effects (something_else integer)");
  const engine = await opened(url);
  const event = newEvent();
  await accept(engine, [event]);
  const { handled } = await driven(engine, record);
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
  expect(handled).toMatchObject([{ outcome: "done" }]);
  expect(await rows("SELECT event_id FROM receiver_handlers.effects")).toEqual([{ event_id: event.id }]);
  // Nor does another search path of the role hide them.
  await administer(url, `ALTER ROLE CURRENT_USER IN DATABASE ${nameOf(url)} SET search_path = public`);
  const other = await opened(url);
  await accept(other, [newEvent()]);
  await until(
    () => handled,
    ({ length }) => length === 2,
  );
  expect(handled.map(({ outcome }) => outcome)).toEqual(["done", "done"]);
});

test("an owner makes the tables, and a role that may only read and write does everything else", async () => {
  const { url } = await postgresBackend();
  const owner = await opened(url);
  const { processor } = await driven(owner, done);
  await processor.drain(0);
  const runtime = await roleOn(url);
  const engine = await opened(runtime);
  expect(await engine.intake.probe()).toEqual({ ok: true });
  await accept(engine, newEvents(3));
  await driven(engine, record);
  // A handler that is new makes a queue, and no table.
  await driven(engine, done, { workerId: "other", name: "another", migrations: [] });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.pending + byState.claimed === 0,
  );
  expect(await engine.ledger.prune({ bodiesOlderThanMs: -1_000, idsOlderThanMs: 1e9 })).toMatchObject({
    ids: 0,
  });
});

const NO_ROOM = `
  CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
  CREATE TRIGGER no_room BEFORE INSERT`;
const NO_RIGHT = /(permission denied|row-level security).*docs\/scaling\.md/;

test.for<[string, (role: string) => string, string, RegExp]>([
  ["of no right to insert", (role) => `REVOKE INSERT ON receiver.events FROM ${role}`, "busy", NO_RIGHT],
  ["of no right to the jobs", (role) => `REVOKE INSERT ON receiver_boss.job FROM ${role}`, "busy", NO_RIGHT],
  [
    "row security blocks the jobs",
    () => "ALTER TABLE receiver_boss.job ENABLE ROW LEVEL SECURITY",
    "busy",
    NO_RIGHT,
  ],
  [
    "the disk is full",
    () => `${NO_ROOM} ON receiver.events FOR EACH ROW EXECUTE FUNCTION public.no_room()`,
    "full",
    /No space left/,
  ],
  [
    "the jobs have no room",
    () => `${NO_ROOM} ON receiver_boss.job_common FOR EACH ROW EXECUTE FUNCTION public.no_room()`,
    "full",
    /No space left/,
  ],
])(
  "what can't be stored because %s is answered 503, not ready, and named by doctor",
  async ([, sql, reason, detail]) => {
    const { url } = await postgresBackend();
    // As the shipped handlers do, it asks for one type.
    const { processor } = await driven(await opened(url), done, { types: ["call.completed"] });
    await processor.drain(0);
    const runtime = await roleOn(url);
    const receiver = await startTestReceiver({ environment: { DATABASE_URL: runtime } });
    const seen = async (): Promise<unknown> => {
      const { config, engine } = receiver;
      const findings = await examine({ config, engine, api: undefined, environment: {} });
      return {
        answered: (await post(receiver.url, newBody())).status,
        ready: (await get(new URL("/readyz", receiver.url))).status,
        doctor: findings.findLast(({ check }) => check === "database")?.message,
      };
    };
    expect(await seen()).toEqual({ answered: 200, ready: 200, doctor: "It takes writes." });
    await administer(url, sql(new URL(runtime).username));
    // What readiness has found out counts for a second.
    await until(
      async () => (await get(new URL("/readyz", receiver.url))).status,
      (status) => status === 503,
    );
    expect(await seen()).toEqual({
      answered: 503,
      ready: 503,
      doctor: expect.stringMatching(`^It takes no writes \\(${reason}\\): .*${detail.source}`),
    });
  },
);

test("the probe leaves nothing behind", async () => {
  const { url, rows } = await postgresBackend();
  const engine = await opened(url);
  const { handled } = await driven(engine, done);
  expect(await engine.intake.probe()).toEqual({ ok: true });
  expect(await rows("SELECT FROM receiver.ids UNION ALL SELECT FROM receiver_boss.job")).toEqual([]);
  await accept(engine, [newEvent()]);
  await until(
    () => handled,
    ({ length }) => length === 1,
  );
});

/** What the documentation says that a role needs which makes no tables. */
const GRANTS = /```sql\n([\s\S]*?)```/.exec(readFileSync("docs/scaling.md", "utf8"))?.[1] ?? "";

/** A role of this database's own with those rights; answers the address by which it comes. */
async function roleOn(url: string): Promise<string> {
  const role = `runtime_${nameOf(url)}`;
  await administer(
    url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'runtime'; ${GRANTS.replaceAll("runtime", role)}`,
  );
  const address = new URL(url);
  address.username = role;
  address.password = "runtime";
  return address.href;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

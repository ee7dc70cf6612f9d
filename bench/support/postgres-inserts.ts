import { createHash } from "node:crypto";
import type { NewEvent } from "../../receiver/engine.ts";
import {
  announce,
  CONCURRENCY,
  eachOf,
  checkpoint,
  newEvents,
  openEngine,
  openPool,
  perSecond,
} from "./postgres-events.ts";

/** As the receiver's group commit does: what arrives while one batch is on its way is the next one. */
export async function acknowledge(url: string): Promise<number> {
  const engine = await openEngine(url);
  await announce(engine);
  await engine.intake.accept(newEvents(CONCURRENCY));
  const events = newEvents();
  await checkpoint(url);
  const startedAtMs = performance.now();
  for (let at = 0; at < events.length; at += CONCURRENCY) {
    const result = await engine.intake.accept(events.slice(at, at + CONCURRENCY));
    if (!result.ok) throw new Error(result.detail);
  }
  const rate = perSecond(events.length, startedAtMs);
  await engine.close();
  return rate;
}

/** What somebody would write by hand to store the same rows: the event, its id, its object, and the job of its handler. */
const INSERT_SAME_ROWS = `
  WITH new AS (
    INSERT INTO receiver.ids (id, seq, day)
    VALUES ($1::uuid, nextval('receiver.seqs'), extract(epoch FROM now()) / 86400)
    ON CONFLICT (id) DO NOTHING RETURNING id, seq
  ), object AS (
    INSERT INTO receiver.objects SELECT $3::uuid, seq, false FROM new ON CONFLICT (key) DO NOTHING
  ), job AS (
    INSERT INTO receiver_boss.job (id, name) SELECT $1::uuid, 'bench' FROM new
  )
  INSERT INTO receiver.events (seq, id, type, object, reconciled, body) SELECT seq, id, $2, $3::uuid, false, $4 FROM new`;

export async function insertSameRows(url: string, connections: number): Promise<number> {
  const engine = await openEngine(url);
  await announce(engine);
  await engine.close();
  return insertEach({ url, connections, text: INSERT_SAME_ROWS }, ({ id, type, objectId, body }) => {
    const object = createHash("sha256")
      .update(JSON.stringify([type, objectId]))
      .digest("hex")
      .slice(0, 32);
    return [id.slice("evt_".length), type, object, body];
  });
}

const CREATE_ONE_TABLE = "CREATE TABLE events (id uuid PRIMARY KEY, type text NOT NULL, body bytea NOT NULL)";
const INSERT_ONE_ROW = "INSERT INTO events VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

export async function insertOneRow(url: string, connections: number): Promise<number> {
  const pool = await openPool(url, 1);
  await pool.query(CREATE_ONE_TABLE);
  await pool.end();
  return insertEach({ url, connections, text: INSERT_ONE_ROW }, ({ id, type, body }) => {
    return [id.slice("evt_".length), type, body];
  });
}

async function insertEach(
  { url, connections, text }: { url: string; connections: number; text: string },
  valuesOf: (event: NewEvent) => unknown[],
): Promise<number> {
  const pool = await openPool(url, connections);
  const insert = async (event: NewEvent): Promise<unknown> =>
    pool.query({ name: "insert", text, values: valuesOf(event) });
  await eachOf(newEvents(CONCURRENCY), insert);
  const events = newEvents();
  await checkpoint(url);
  const rate = await eachOf(events, insert);
  await pool.end();
  return rate;
}

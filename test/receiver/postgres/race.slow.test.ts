import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { NewEvent, Store } from "../../../receiver/store/port.ts";
import { createServer } from "../../../tools/postgres-server.ts";
import { freePort } from "../../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { event } from "../store-suite/harness.ts";
import { openPostgres } from "./backend.ts";
import { newDatabase, noServer, query } from "./server.ts";

/** LONG_RUNS=1 has three times as many. */
const EVENTS = process.env["LONG_RUNS"] === undefined ? 6_000 : 20_000;
const FAULTS = 13;
const BATCH = 20;
const KEYS = 7;
const SESSIONS_ENDED = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

/** An event that both handlers of the race want. */
function orderOf(phone: string, place: number): NewEvent {
  const [id, type] = [newEventId(), "order.created"];
  const data = { object: { phone, place } };
  const envelope = { id, type, created: 1_767_225_600, api_version: "v1", org_id: "org_1", data };
  return event({ id, type, envelope });
}

/** A worker in a separate process, which writes a row for each event that it handles. */
function startRacingWorker(url: string): ChildProcess {
  const program = fileURLToPath(new URL("./racing-worker.ts", import.meta.url));
  const child = spawn(process.execPath, [program, url], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** Sends as the service does: again until it is acknowledged. */
async function deliver(stores: readonly Store[], batch: readonly NewEvent[], n: number) {
  for (let tried = 0; ; tried += 1) {
    const result = await stores[(n + tried) % stores.length]?.intake.accept(batch);
    if (result?.ok) return;
    if (tried > 50) throw new Error(`not acknowledged: ${JSON.stringify(result)}`);
  }
}

/** Three intakes, and three workers, one of them started. */
async function openFleet(url: string) {
  const stores = [await openPostgres(url), await openPostgres(url), await openPostgres(url)];
  onTestFinished(async () => void (await Promise.all(stores.map(async (store) => store.close()))));
  const workers = [1, 2, 3].map(() => startRacingWorker(url));
  await until(async () => (await query(url, "SELECT FROM receiver.announced")).length === 2);
  return { stores, workers };
}

/** Waits until all jobs have ended; returns the ids of the handled events. */
async function handledIds(url: string): Promise<string[]> {
  await expect
    .poll(async () => query(url, "SELECT FROM receiver.job WHERE state < 'completed' LIMIT 1"), {
      timeout: 400_000,
      interval: 500,
    })
    .toEqual([]);
  const effects = await query(url, "SELECT event_id FROM receiver_handlers.effects");
  return effects.map((row) => String(row["event_id"])).toSorted();
}

test.skipIf(noServer())(
  "three that take events and three workers, killed and cut off, lose nothing, handle nothing twice, and keep the order of a key",
  { timeout: 580_000 },
  async () => {
    const url = await newDatabase();
    const { stores, workers } = await openFleet(url);
    const sent = Array.from({ length: EVENTS }, (_, place) => orderOf(`k${String(place % KEYS)}`, place));
    let faults = 0;
    for (let at = 0; at < EVENTS; at += BATCH) {
      const batch = sent.slice(at, at + BATCH);
      // Three of ten are sent again, to another process, while later ones arrive: so the order of arrival is known.
      const copies = sent.slice(Math.max(0, at - BATCH), at).filter((_, index) => index % 10 < 3);
      await Promise.all([deliver(stores, batch, at), deliver(stores, copies, at + 1)]);
      if (at < ((faults + 1) * EVENTS) / (FAULTS + 1)) continue;
      faults += 1;
      if (faults % 3 === 0) await query(url, SESSIONS_ENDED);
      else {
        workers.shift()?.kill("SIGKILL");
        workers.push(startRacingWorker(url));
      }
    }
    expect(faults).toBe(FAULTS);
    expect(await handledIds(url)).toEqual(sent.map(({ id }) => id).toSorted());
    const inOrder = await query(url, "SELECT key, place::int FROM receiver_handlers.by_key ORDER BY n");
    expect(inOrder).toHaveLength(EVENTS);
    for (let key = 0; key < KEYS; key += 1) {
      const places = inOrder
        .filter((row) => row["key"] === `k${String(key)}`)
        .map((row) => Number(row["place"]));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  },
);

test.skipIf(noServer())(
  "a fleet whose server crashed goes on at its promoted standby: nothing acknowledged is lost or handled twice",
  { timeout: 580_000 },
  async () => {
    const primary = await createServer(temporaryDirectory(), { port: await freePort() });
    const standby = await primary.addStandby(temporaryDirectory(), await freePort());
    onTestFinished(async () => standby.stop("immediate"));
    const url = primary.url();
    // Otherwise the standby may lack writes that the primary has confirmed.
    await query(url, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await query(url, "SELECT pg_reload_conf()");
    const inSync = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
    await until(async () => (await query(url, inSync)).length === 1);
    const { stores } = await openFleet(url);
    const sent = Array.from({ length: 1_200 }, (_, place) => orderOf(`k${String(place % KEYS)}`, place));
    for (let at = 0; at < sent.length; at += BATCH) {
      if (at === sent.length / 2) {
        await primary.stop("immediate");
        await standby.promote(primary.port);
      }
      await deliver(stores, sent.slice(at, at + BATCH), at);
    }
    expect(await handledIds(url)).toEqual(sent.map(({ id }) => id).toSorted());
  },
);

import { connect, createServer as createProxy, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../../tools/postgres-server.ts";
import { freePort } from "../../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { openPostgres } from "./backend.ts";
import { orderOf, startRacingWorker } from "./racing.ts";
import { noServer, query } from "./server.ts";

const BATCHES = 60;
const BATCH = 20;

/** An address that stays while the server behind it changes, as a pooler or a DNS name gives one. */
async function address(port: () => number): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createProxy((socket) => {
    const server = connect(port(), "127.0.0.1");
    for (const [one, other] of [
      [socket, server],
      [server, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return `postgres://postgres@127.0.0.1:${String((proxy.address() as AddressInfo).port)}/postgres`;
}

test.skipIf(noServer())(
  "a fleet whose server crashed goes on where its standby was promoted: nothing acknowledged is lost or handled twice",
  { timeout: 240_000 },
  async () => {
    const primary = await createServer(temporaryDirectory(), { port: await freePort() });
    const standby = await primary.addStandby(temporaryDirectory(), await freePort());
    onTestFinished(async () => standby.stop("immediate"));
    // Otherwise what the primary has confirmed may not be on the standby yet.
    await query(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await query(primary.url(), "SELECT pg_reload_conf()");
    await until(
      async () => query(primary.url(), "SELECT sync_state FROM pg_stat_replication"),
      ([row]) => row?.["sync_state"] === "sync",
    );
    let port = primary.port;
    const url = await address(() => port);
    const intakes = [await openPostgres(url), await openPostgres(url)];
    const worker = await openPostgres(url);
    startRacingWorker(url);
    startRacingWorker(url);
    await until(
      async () => worker.ledger.handlers(),
      ({ length }) => length === 2,
    );
    const ids: string[] = [];
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const events = Array.from({ length: BATCH }, (_, n) => orderOf(`k${String(n % 3)}`, batch * BATCH + n));
      if (batch === BATCHES / 2) {
        await primary.stop("immediate");
        await standby.promote();
        port = standby.port;
      }
      // As the service does: again until it is acknowledged, by whichever process takes it.
      let tried = batch;
      await until(
        async () => intakes[(tried += 1) % 2]?.intake.accept(events),
        (result) => result?.ok === true,
      );
      ids.push(...events.map(({ id }) => id));
    }
    await expect
      .poll(async () => query(standby.url(), "SELECT FROM receiver.job WHERE state < 'completed' LIMIT 1"), {
        timeout: 120_000,
        interval: 500,
      })
      .toEqual([]);
    const effects = await query(standby.url(), "SELECT event_id FROM receiver_handlers.effects");
    expect(effects.map((row) => String(row["event_id"])).toSorted()).toEqual(ids.toSorted());
    await Promise.all([...intakes, worker].map(async (store) => store.close()));
  },
);

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SendRequest, SendResult } from "../../../simulator/domain/flights.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { startService, type Json } from "../../helpers/service.ts";
import {
  deliveryOf,
  emit,
  emitOne,
  fileAfterKill,
  openSimulator,
  register,
  temporaryDirectory,
  resendAll,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

/** Operations on a delivery, and kills, in each state and between two of them. */

/** A network that answers each request on command, and until then leaves the attempt open. */
function createNetwork() {
  const underWay: ((status: number) => void)[] = [];
  return {
    underWay,
    send: ({ signal }: SendRequest): Promise<SendResult> =>
      new Promise((resolve) => {
        underWay.push((status) => resolve({ outcome: { status }, durationMs: 1 }));
        signal.addEventListener("abort", () => resolve({ outcome: { error: "interrupted" }, durationMs: 1 }));
      }),
    /** Resolves when so many requests have arrived in total. */
    until: async (count: number): Promise<void> => {
      while (underWay.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

type Network = ReturnType<typeof createNetwork>;

/** Brings the first delivery into a state. */
const INTO: Record<string, (simulator: Simulator, network: Network) => Promise<void>> = {
  "under way": async () => undefined,
  waiting: async (simulator, { underWay }) => {
    underWay[0]?.(503);
    await simulator.settled();
  },
  delivered: async (simulator, { underWay }) => {
    underWay[0]?.(200);
    await simulator.settled();
  },
  dead: async (simulator, network) => {
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await network.until(attempt);
      network.underWay[attempt - 1]?.(503);
      await simulator.settled();
      if (attempt < 6) void simulator.clock.next();
    }
  },
};

const STATES = {
  "under way": "attempting",
  waiting: "attempting",
  delivered: "delivered",
  dead: "dead",
} as const;

async function startIn(state: string, options: Parameters<typeof startService>[0] = {}) {
  const network = createNetwork();
  const service = await startService({ clock: "manual", send: network.send, ...options });
  register(service.simulator, "http://localhost:9/");
  const id = emitOne(service.simulator);
  await network.until(1);
  await INTO[state]?.(service.simulator, network);
  return { ...service, network, id };
}

test.each([
  ["under way", { isNew: false, requests: 1 }, 409],
  ["waiting", { isNew: false, requests: 2 }, 202],
  ["delivered", { isNew: true, requests: 2 }, 409],
  ["dead", { isNew: true, requests: 7 }, 409],
] as const)("a recovery sends a delivery that is %s once", async (state, { isNew, requests }, now) => {
  const { ask, network, id, simulator } = await startIn(state);
  const attemptNow = await startIn(state);
  expect((await attemptNow.ask("POST", `/deliveries/${attemptNow.id}/attempt`, {})).status).toBe(now);

  expect(await resendAll(simulator, { state: STATES[state] })).toMatchObject({ total: 1, sent: 1 });
  const { data } = (await ask("GET", "/deliveries")).body;
  expect(data).toMatchObject(isNew ? [{ resend_of: id }, { id }] : [{ id }]);
  await network.until(requests);
  for (const answer of network.underWay) answer(200);
  await simulator.settled();
  expect(network.underWay).toHaveLength(requests);
  expect((await ask("GET", "/deliveries?state=attempting")).body.data).toEqual([]);
});

test.each(["under way", "waiting", "delivered", "dead"] as const)(
  "after a kill, a delivery that was %s is judged, counted and listed by its outcome",
  async (state) => {
    const file = join(temporaryDirectory(), "simulator.db");
    const { simulator: first, network, id } = await startIn(state, { dataFile: file });
    const killed = fileAfterKill(file, "killed");
    expect(existsSync(killed)).toBe(true);
    for (const answer of network.underWay) answer(503);
    await first.close();

    const again = createNetwork();
    const { simulator, ask } = await startService({ clock: "manual", dataFile: killed, send: again.send });
    const verdict = async () => ((await ask("GET", `/deliveries/${id}`)).body["verdict"] as Json)["result"];
    const listed = async () => {
      const { body } = await ask("GET", `/deliveries?verdict=${String(await verdict())}`);
      return body.data?.map((one) => one.id);
    };
    expect(await verdict()).toBe(
      { "under way": "waiting", waiting: "not", delivered: "ok", dead: "not" }[state],
    );
    expect(await listed()).toEqual([id]);
    if (STATES[state] !== "attempting") return;
    // Deliveries that continue are judged when they end, even if no count was requested.
    void simulator.clock.next();
    await again.until(1);
    again.underWay[0]?.(200);
    await simulator.settled();
    await expect.poll(listed).toEqual([id]);
    expect([await verdict(), deliveryOf(simulator, id).state]).toEqual(["ok", "delivered"]);
  },
);

test("a restart at the very moment of the last end reuses no number of the stream", async () => {
  const file = join(temporaryDirectory(), "simulator.db");
  const wall = createVirtualWall();
  const noticed: number[] = [];
  for (let life = 1; life <= 3; life += 1) {
    const simulator = openSimulator({ dataFile: file, wall, clock: "manual" });
    simulator.journal.watch(({ id }) => noticed.push(id));
    register(simulator, "http://localhost:9/");
    emitOne(simulator);
    await simulator.close();
  }
  expect(noticed).toEqual([...new Set(noticed)].toSorted((one, other) => one - other));
});

test("an event that went to many endpoints is shown with all of its deliveries", async () => {
  const send = async (): Promise<SendResult> => ({ outcome: { status: 200 }, durationMs: 1 });
  const { simulator, ask } = await startService({ clock: "manual", send });
  for (let port = 1; port <= 120; port += 1) register(simulator, `http://localhost:${port}/`);
  const ids = emit(simulator);
  await simulator.settled();
  const [event] = (await ask("GET", "/events")).body.data ?? [];
  const { body } = await ask("GET", `/events/${String(event?.["id"])}`);
  const shown = (body["deliveries"] as Json[]).map((one) => one["id"]);
  expect(shown).toEqual(ids.toReversed());
});

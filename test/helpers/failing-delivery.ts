import type { SimulatorOptions } from "../../simulator/service/compose.ts";
import { startEndpoint } from "./endpoint.ts";
import { emitOne, openSimulator, register } from "./simulator.ts";
import { createVirtualWall } from "./virtual-wall.ts";

/** SPEC §6 Retry policy. */
export const DELAYS_SECONDS = [60, 300, 1_800, 7_200, 43_200];

/** An endpoint that always answers 500, and a delivery to it. */
export async function startFailing(options: SimulatorOptions) {
  const endpoint = await startEndpoint(500);
  const simulator = openSimulator(options);
  const { secret } = register(simulator, endpoint.url);
  return { endpoint, simulator, secret, id: emitOne(simulator) };
}

/** One attempt has failed and the second is due in 60 s; the clock is `real`, on a machine whose time the test controls. */
export async function waitingForTheSecondAttempt() {
  const wall = createVirtualWall();
  const { endpoint, simulator, id } = await startFailing({ clock: "real", wall });
  await simulator.settled();
  /** Lets a second of wall time pass, and waits until everything due by then has ended. */
  const second = async () => {
    wall.pass(1_000);
    await simulator.settled();
  };
  return { endpoint, wall, simulator, id, second };
}

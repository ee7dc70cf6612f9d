import { startEndpoint } from "./endpoint.ts";
import { emitOne, openSimulator, register } from "./simulator.ts";
import { createVirtualWall } from "./virtual-wall.ts";

/** One attempt has failed and the second is due in 60 s; the clock is `real`, on a machine whose time the test controls. */
export async function waitingForTheSecondAttempt() {
  const endpoint = await startEndpoint(500);
  const wall = createVirtualWall();
  const simulator = openSimulator({ clock: "real", wall });
  register(simulator, endpoint.url);
  const id = emitOne(simulator);
  await simulator.settled();
  /** Lets a second of wall time pass, and waits until everything due by then has ended. */
  const second = async () => {
    wall.pass(1_000);
    await simulator.settled();
  };
  return { endpoint, wall, simulator, id, second };
}

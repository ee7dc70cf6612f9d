import { startEndpoint } from "./endpoint.ts";
import { emitOne, openSimulator, register } from "./simulator.ts";
import { createVirtualWall } from "./virtual-wall.ts";

/** One failed attempt behind, the second due in 60 s, with the clock `real` on a machine whose time the test owns. */
export async function waitingForTheSecondAttempt() {
  const endpoint = await startEndpoint(500);
  const wall = createVirtualWall();
  const simulator = openSimulator({ clock: "real", wall });
  register(simulator, endpoint.url);
  const id = emitOne(simulator);
  await simulator.settled();
  /** Lets a second of wall time pass and everything that is due by then come to its end. */
  const second = async () => {
    wall.pass(1_000);
    await simulator.settled();
  };
  return { endpoint, wall, simulator, id, second };
}

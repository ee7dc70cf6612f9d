import { expect, test } from "vitest";
import { createDeliveryControl } from "../../../simulator/library/deliveries.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { emit, openSimulator, register } from "../../helpers/simulator.ts";

test("a list goes on where a look through it took too long, and ends where it is as long as was asked for", async () => {
  let looks: number | undefined;
  const wall = {
    ...systemTime,
    // The third row of a list is one for which there is no time left.
    monotonicMs: () => (looks === undefined ? 0 : ++looks > 3 ? 1_000 : 0),
  };
  const send = async () => ({ outcome: { status: 200 }, durationMs: 1 });
  const simulator = openSimulator({ clock: "manual", wall, send });
  const { id: endpointId } = register(simulator, "http://localhost:9/");
  const ids = emit(simulator, "call.completed", 6);
  await simulator.settled();
  const control = createDeliveryControl(simulator);
  for (const limit of [3, 6]) {
    looks = 0;
    // By two filters: what needs at most one is found by an index, however long that takes.
    const list = control.list({ endpointId, state: "delivered", limit });
    expect(list.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, limit));
    expect(looks).toBeGreaterThan(4);
  }
});

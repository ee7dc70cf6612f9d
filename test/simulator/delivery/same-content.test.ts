import { expect, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { openSimulator } from "../../helpers/simulator.ts";

const ID = `evt_${"c".repeat(32)}`;

test.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: { c: [1, null] } }, { b: { c: [1, null] }, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: null }, false],
  [{ a: 1, b: 2 }, { a: 1, c: 2 }, false],
  [{ a: null }, { b: null }, false],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [[], {}, false],
  [null, {}, false],
  [0, "0", false],
  ["é", "é", true],
])("an event with %j is taken for the one with %j and the same id: %s", (left, right, isSame) => {
  for (const [first, second] of [
    [left, right],
    [right, left],
  ]) {
    const simulator = openSimulator();
    const sent = (note: unknown) => {
      const envelope = sampleEnvelope("order.created", { id: ID, created: 1_769_882_709 });
      const data = { object: { ...envelope.data.object, note } };
      return simulator.events.replay([{ ...envelope, data }], { newIds: false }).ok;
    };
    expect([sent(first), sent(second)]).toEqual([true, isSame]);
  }
});

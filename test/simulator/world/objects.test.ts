import { describe, expect, test } from "vitest";
import { merge } from "../../../simulator/domain/world/objects.ts";
import { createTestWorld, happen, RESTAURANT, walkCalls } from "./test-world.ts";

describe("the readings about objects", () => {
  test.each([
    ["string", "+12125550101"],
    ["object", { type: "staff_line", phone_number: "+12125550101" }],
  ] as const)(
    "transfer_to_form=%s shapes transfer_to, in webhooks and in the history",
    (form, transferTo) => {
      const { world } = createTestWorld({ readings: { transfer_to_form: form } });
      const { object } = happen(world, "call.transferred");
      expect(object["transfer_to"]).toEqual(transferTo);
      for (const call of walkCalls(world, RESTAURANT)) {
        expect(call["transfer_to"]).toEqual(call["transferred"] === true ? transferTo : null);
      }
    },
  );

  test.each([
    ["boolean", true, false],
    ["string", "succeeded", "failed"],
  ] as const)("transfer_succeeded_form=%s says %s or %s", (form, succeeded, failed) => {
    const { world } = createTestWorld({ calls: 1_000, readings: { transfer_succeeded_form: form } });
    expect(happen(world, "call.transferred").object["transfer_succeeded"]).toBe(succeeded);
    const override = { object: { transfer_succeeded: false } };
    expect(happen(world, "call.transferred", override).object["transfer_succeeded"]).toBe(failed);
    const seen = new Set(walkCalls(world, RESTAURANT).map((call) => call["transfer_succeeded"]));
    expect(seen).toEqual(new Set([null, succeeded, failed]));
  });

  test("order_and_booking_shape=minimal leaves only the kind and the requested fields", () => {
    const { world } = createTestWorld({ readings: { order_and_booking_shape: "minimal" } });
    expect(happen(world, "order.created").object).toEqual({ object: "order" });
    expect(happen(world, "booking.created").object).toEqual({ object: "booking" });
    expect(happen(world, "order.created", { object: { total: "1.00" } }).object).toEqual({
      object: "order",
      total: "1.00",
    });
  });

  test("order_and_booking_shape=rich has plausible fields", () => {
    const { world } = createTestWorld();
    const { object } = happen(world, "order.created");
    expect(Object.keys(object).length).toBeGreaterThan(8);
    expect(Object.keys(happen(world, "booking.created").object).length).toBeGreaterThan(8);
    const items = object["items"] as { quantity: number; unit_price: string }[];
    const cents = items.reduce(
      (sum, item) => sum + item.quantity * Math.round(Number(item.unit_price) * 100),
      0,
    );
    expect(object["total"]).toBe((cents / 100).toFixed(2));
  });

  test("a stored object stays as it was sent when the readings change", () => {
    const { world, readings } = createTestWorld();
    const { object } = happen(world, "call.transferred");
    readings.transfer_to_form = "object";
    expect(walkCalls(world, RESTAURANT)[0]).toEqual(object);
  });
});

describe("merging overrides", () => {
  test("merges objects, replaces all other values, and leaves the original unchanged", () => {
    const base = { a: { b: 1, c: [1, 2] }, d: 1 };
    expect(merge(base, { a: { c: [3] }, d: { e: 1 }, f: null })).toEqual({
      a: { b: 1, c: [3] },
      d: { e: 1 },
      f: null,
    });
    expect(base).toEqual({ a: { b: 1, c: [1, 2] }, d: 1 });
  });

  test("treats __proto__ as an ordinary key", () => {
    const merged = merge({}, JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.keys(merged)).toEqual(["__proto__"]);
  });
});

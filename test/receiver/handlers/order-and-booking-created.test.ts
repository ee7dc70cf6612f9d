import { expect, test } from "vitest";
import { bookingCreated } from "../../../receiver/handlers/booking-created.ts";
import { orderCreated } from "../../../receiver/handlers/order-created.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

test.for([
  ["order", orderCreated],
  ["booking", bookingCreated],
] as const)("an %s is stored once and as it came, with many fields or with none", async ([kind, handler]) => {
  const { run, rows } = await bench(handler);
  const rich = sampleEnvelope(`${kind}.created`);
  const [id, data] = [`evt_${"f".repeat(32)}`, { object: { object: kind } }];
  const minimal = sampleEnvelope(`${kind}.created`, { id, data, created: 7 });
  for (const event of [rich, rich, minimal]) await run(event);
  expect(await rows(`SELECT * FROM ${kind}s`)).toEqual([
    { event_id: rich.id, created: rich.created, details: JSON.stringify(rich.data.object) },
    { event_id: minimal.id, created: 7, details: JSON.stringify({ object: kind }) },
  ]);
});

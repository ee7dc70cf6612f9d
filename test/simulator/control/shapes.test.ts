import { expect, test } from "vitest";
import type { z } from "zod";
import {
  clockSchema,
  deliveryDetailSchema,
  deliverySchema,
  emittedSchema,
  endpointSchema,
  eventDetailSchema,
  eventSchema,
  recoverySchema,
  registeredSchema,
} from "../../../simulator/domain/shapes.ts";
import { startSimulator } from "../../../simulator/index.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";

/** A field of the API as the library names it. */
const camel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What the API tells, with the names and the times of the library. */
const inLibrary = (told: Record<string, unknown>, ...without: string[]) =>
  Object.fromEntries(
    Object.entries(told)
      .filter(([name]) => name !== "object" && !without.includes(name))
      .map(([name, value]) => [
        camel(name),
        name.endsWith("_at") && typeof value === "string" ? new Date(value) : value,
      ]),
  );

test("what the control API tells has the one shape, field for field, and the library answers the same", async () => {
  const endpoint = await startEndpoint(500);
  await using simulator = await startSimulator({ calls: 0 });
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(`${simulator.url}/control${path}`, {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    });
    return (await answer.json()) as Record<string, any>;
  };
  // Whatever the shape does not name would be left out.
  const expectShape = (schema: z.ZodType, told: unknown) => expect(schema.parse(told)).toEqual(told);

  expectShape(registeredSchema, await ask("/endpoints", { url: endpoint.url, faults: ["duplicate"] }));
  expectShape(emittedSchema, await ask("/events", { type: "call.completed" }));
  await simulator.clock.next();
  const list = await ask("/deliveries");
  expect(list["data"]).toHaveLength(2);
  for (const one of list["data"]) expectShape(deliverySchema, one);
  const [{ id, event_id: eventId, endpoint_id: endpointId }] = list["data"];
  const detail = await ask(`/deliveries/${id}`);
  expectShape(deliveryDetailSchema, detail);
  const registered = await ask(`/endpoints/${endpointId}`);
  expectShape(endpointSchema, registered);
  const event = await ask(`/events/${eventId}`);
  expectShape(eventDetailSchema, event);
  expectShape(eventSchema, (await ask("/events"))["data"][0]);
  expectShape(clockSchema, await ask("/clock"));
  expectShape(recoverySchema, await ask("/deliveries/resend", { state: "failed", dry_run: true }));

  const record = simulator.deliveries.get(id);
  expect(record).toMatchObject(inLibrary(detail, "handling", "attempts", "url"));
  const [attempt] = detail["attempts"];
  expect(record.attempts[0]).toMatchObject(inLibrary(attempt, "request", "signature", "answer"));
  expect(record.attempts[0]?.request).toMatchObject({ url: attempt.request.url });
  expect(simulator.endpoints.get(endpointId)).toMatchObject(
    inLibrary(registered, "secret_last4", "previous_secret_last4", "previous_secret_until"),
  );
});

import { expect, test } from "vitest";
import { z } from "zod";
import type { Outcome } from "../../../simulator/domain/outcome.ts";
import { countSchema, jobSchema } from "../../../simulator/domain/job-shapes.ts";
import {
  clockSchema,
  deliveryDetailSchema,
  deliverySchema,
  type DeliveryShape,
  emittedSchema,
  endpointSchema,
  eventDetailSchema,
  eventSchema,
  listOf,
  registeredSchema,
} from "../../../simulator/domain/shapes.ts";
import { createDeliveryControl } from "../../../simulator/library/deliveries.ts";
import { createEndpointControl } from "../../../simulator/library/endpoints.ts";
import { startService } from "../../helpers/service.ts";

/** A field of the API as the library names it. */
const camel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** An answer of the API, with the names and times of the library. */
const inLibrary = (parsed: Record<string, unknown>, ...without: string[]) =>
  Object.fromEntries(
    Object.entries(parsed)
      .filter(([name]) => name !== "object" && !without.includes(name))
      .map(([name, value]) => [
        camel(name),
        /_at$|_until$/.test(name) && typeof value === "string" ? new Date(value) : value,
      ]),
  );

test("answers of the control API and the library have the same shapes, field by field", async () => {
  const outcomes: Outcome[] = [{ status: 500 }, { error: "refused", detail: "nobody listens" }];
  const send = () => Promise.resolve({ outcome: outcomes.pop() ?? { status: 200 }, durationMs: 1 });
  const { ask, simulator } = await startService({ clock: "manual", send });
  // The schema would drop fields that it does not name.
  const parsed = async (schema: z.ZodType, method: string, path: string, body?: object) => {
    const answer = await ask(method, path, body);
    expect(z.encode(schema, schema.parse(answer.body)), path).toEqual(answer.body);
    return answer.body;
  };
  const url = "http://localhost:1/";
  await parsed(registeredSchema, "POST", "/endpoints", { url, faults: ["duplicate"] });
  await parsed(emittedSchema, "POST", "/events", { type: "call.completed" });
  await simulator.clock.next();
  const { data = [] } = await parsed(listOf(deliverySchema), "GET", "/deliveries");
  const [{ event_id: eventId, endpoint_id: endpointId }] = data as [DeliveryShape];
  const endpoint = await parsed(endpointSchema, "GET", `/endpoints/${endpointId}`);
  await parsed(eventDetailSchema, "GET", `/events/${eventId}`);
  await parsed(listOf(eventSchema), "GET", "/events");
  await parsed(clockSchema, "GET", "/clock");
  await parsed(countSchema, "POST", "/deliveries/resend", { state: "failed", dry_run: true });
  await parsed(jobSchema, "POST", "/deliveries/resend", { state: "lost" });

  for (const record of createDeliveryControl(simulator).list()) {
    const detail = await parsed(deliveryDetailSchema, "GET", `/deliveries/${record.id}`);
    expect(inLibrary(detail, "attempts", "url")).toEqual({ ...record, attempts: undefined });
    const [attempt] = detail["attempts"] as Record<string, { url: string }>[];
    expect(record.attempts[0]).toMatchObject(inLibrary(attempt!, "request", "signature", "answer"));
    expect(record.attempts[0]?.request.url).toBe(attempt?.["request"]?.url);
  }
  expect(createEndpointControl(simulator).get(endpointId)).toEqual(inLibrary(endpoint));
});

import { defineHandler } from "./services.ts";

/** Each has a job of its own: where one fails, the other is not repeated. */
export const kitchen = defineHandler({
  name: "kitchen",
  type: "order.created",
  handle: async (event, { services, idempotencyKeyFor, signal }) => {
    await services.send("/kitchen", event.data.object, { key: idempotencyKeyFor("ticket"), signal });
  },
});

export const loyalty = defineHandler({
  name: "loyalty",
  type: "order.created",
  handle: async (event, { services, idempotencyKeyFor, signal }) => {
    await services.send("/points", event.data.object, { key: idempotencyKeyFor("points"), signal });
  },
});

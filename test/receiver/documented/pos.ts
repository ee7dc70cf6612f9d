import { defineHandler } from "./services.ts";

/** 429 is `RetryAfter` in `send`: no failure, however often. Real failures are tried for a quarter of an hour, then it is dead. */
export const pos = defineHandler({
  name: "pos",
  type: "order.created",
  maxAttempts: 15,
  backoff: () => 60,
  timeoutSeconds: 20,
  handle: async (event, { services, idempotencyKey, signal, log }) => {
    const { ticket } = await services.send("/pos/orders", event.data.object, { key: idempotencyKey, signal });
    log.info({ ticket }, "sent to the till");
  },
});

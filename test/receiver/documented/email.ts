import { defineHandler } from "./services.ts";

/** The provider takes two connections and a hundred mails a minute. */
export const email = defineHandler({
  name: "email",
  type: "booking.created",
  concurrency: 2,
  rateLimit: { limit: 100, perSeconds: 60 },
  handle: async (event, { services, idempotencyKey, signal }) => {
    await services.send("/mail", { booking: event.data.object }, { key: idempotencyKey, signal });
  },
});

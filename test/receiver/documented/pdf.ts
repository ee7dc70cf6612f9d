import { defineHandler } from "./services.ts";

/** The receipt takes a minute to make. Where the mail fails, it is there for the next attempt. */
export const pdf = defineHandler({
  name: "receipt",
  type: "order.created",
  timeoutSeconds: 300,
  handle: async (event, { services, step, idempotencyKeyFor, signal }) => {
    const receipt = await step("pdf", () =>
      services.send("/pdf", event.data.object, { key: idempotencyKeyFor("pdf"), signal }),
    );
    await services.send("/mail", { attach: receipt["url"] }, { key: idempotencyKeyFor("mail"), signal });
  },
});

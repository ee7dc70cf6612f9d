import { RetryAfter } from "../../../receiver/work/handler.ts";
import { defineHandler } from "./services.ts";

/** Tells the team of transfers, from nine to five. */
export const slack = defineHandler({
  name: "slack",
  type: "call.transferred",
  handle: async (event, { services, idempotencyKey, signal }) => {
    const now = services.now();
    const opening = new Date(now);
    opening.setHours(9, 0, 0, 0);
    if (now.getHours() >= 17) opening.setDate(opening.getDate() + 1);
    if (now.getHours() < 9 || now.getHours() >= 17) throw new RetryAfter(opening);
    await services.send(
      "/slack",
      { text: `Transferred: ${event.data.object.id}` },
      { key: idempotencyKey, signal },
    );
  },
});

import { defineHandler } from "./services.ts";

/** A text to whoever left a voicemail, and one to the staff. */
export const sms = defineHandler({
  name: "sms",
  type: "voicemail.created",
  handle: async (event, { services, idempotencyKeyFor, signal }) => {
    const { phone } = event.data.object;
    if (!phone) return;
    await services.send(
      "/sms",
      { to: phone, text: "We call you back." },
      { key: idempotencyKeyFor("caller"), signal },
    );
    await services.send(
      "/sms",
      { to: "staff", text: `Call ${phone}` },
      { key: idempotencyKeyFor("staff"), signal },
    );
  },
});

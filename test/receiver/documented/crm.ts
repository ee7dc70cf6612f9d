import { defineHandler } from "./services.ts";

/** The CRM hears of each caller's calls and voicemails in their order. */
export const crm = defineHandler({
  name: "crm",
  type: ["call.completed", "voicemail.created"],
  key: ({ data }) => data.object.phone ?? "unknown",
  handle: async (event, { services, idempotencyKey, signal }) => {
    await services.send("/crm/contacts", event.data.object, { key: idempotencyKey, signal });
  },
});

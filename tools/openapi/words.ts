import type { ERROR_STATUS } from "../../simulator/domain/refused.ts";
import { callSchema, envelopeSchema, organizationSchema, voicemailSchema } from "../../shared/events.ts";

/** The meaning of each error code (SPEC §7). */
export const ERROR_MEANINGS: Record<keyof typeof ERROR_STATUS, string> = {
  invalid_cursor: "starting_after matches no item of the caller's organization",
  invalid_request: "a parameter has a value that cannot be used (not documented by the service)",
  unauthorized: "missing or invalid API key",
  not_found: "the requested item does not exist",
  server_error: "internal failure",
};

type Meaning = { description: string; examples?: unknown[] };

/** What the schemas do not say about a field (SPEC §2, §6). */
export const FIELD_MEANINGS = new Map<unknown, Meaning>([
  [organizationSchema.shape.industry, { description: "A kind of business", examples: ["restaurant"] }],
  [organizationSchema.shape.api_scopes, { description: "Scopes of the calling key", examples: [["read"]] }],
  [callSchema.shape.duration_sec, { description: "Seconds" }],
  [callSchema.shape.outcome, { description: "Values seen: voicemail, transferred, completed" }],
  [callSchema.shape.transcript, { description: "The conversation, in lines that name the speaker" }],
  [callSchema.shape.recording_url, { description: "Where the recording (mp3) is" }],
  [callSchema.shape.transfer_to, { description: "null when not transferred; the other form is not stated" }],
  [
    callSchema.shape.transfer_succeeded,
    { description: "null when not transferred; the other form is not stated" },
  ],
  [callSchema.shape.detected_language, { description: "A short language code", examples: ["en"] }],
  [voicemailSchema.shape.call_id, { description: "The call that the voicemail was left on" }],
  [voicemailSchema.shape.reason, { description: "Why a message was taken", examples: ["after_hours"] }],
  [voicemailSchema.shape.reviewed, { description: "false means unread" }],
  [envelopeSchema.shape.created, { description: "Unix time in seconds" }],
]);

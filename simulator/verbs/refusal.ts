/**
 * Why something was not done: there is no such thing, what was asked for cannot be, or it does not fit what is there. The
 * message says what to do instead.
 */
export type RefusalReason =
  | "not_found"
  | "invalid_request"
  | "endpoint_deleted"
  | "nothing_due"
  | "not_selected"
  | "id_taken"
  | "already_running";

export type Refusal = { ok: false; reason: RefusalReason; message: string };

export function refuse(reason: RefusalReason, message: string): Refusal {
  return { ok: false, reason, message };
}

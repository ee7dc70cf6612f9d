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

/** What to tell somebody who names an endpoint, or an event, that is not here. */
export function notFound(kind: "endpoint" | "event", id: string): Refusal {
  return refuse("not_found", `There is no ${kind} ${JSON.stringify(id)}.`);
}

export function refuse(reason: RefusalReason, message: string): Refusal {
  return { ok: false, reason, message };
}

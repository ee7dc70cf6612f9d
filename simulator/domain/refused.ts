/** For who answers a refusal by a status: there is no such thing, it cannot be so, or it does not fit what is there. */
export type RefusalReason =
  | "not_found"
  | "invalid_request"
  | "endpoint_deleted"
  | "nothing_due"
  | "not_selected"
  | "id_taken"
  | "already_running";

/** Why something was not done, with what to do instead; `invalid_request` where it names no other reason. */
export type Refused = { ok: false; reason?: RefusalReason | undefined; message: string };

export function refused(message: string, reason?: RefusalReason): Refused {
  return { ok: false, reason, message };
}

/** What to tell somebody who names an endpoint, or an event, that is not here. */
export function notFound(kind: "endpoint" | "event", id: string): Refused {
  return refused(`There is no ${kind} ${JSON.stringify(id)}.`, "not_found");
}

import type { Organization } from "../../shared/events.ts";
import { type ErrorCode, STATUS_OF } from "../domain/refused.ts";
import type { WorldObject } from "../domain/world/objects.ts";

type List = { object: "list"; data: readonly WorldObject[]; has_more?: boolean };

/** An answer: a status and a JSON body. */
export type Answer = { status: number; body: Organization | WorldObject | List | ErrorBody };
type ErrorBody = { error: string; message: string };

export function ok(body: Answer["body"]): Answer {
  return { status: 200, body };
}

export function refusal(error: ErrorCode, message: string): Answer {
  return { status: STATUS_OF[error], body: { error, message } };
}

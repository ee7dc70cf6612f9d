import type { Readings } from "../readings.ts";
import type { WorldObject } from "./objects.ts";

/**
 * A call with its transfer fields in the forms that are read (`transfer_to_form`, `transfer_succeeded_form`). Fields that
 * have another form already stay as they are.
 */
export function withTransferForms(call: WorldObject, readings: Readings): WorldObject {
  const { transfer_to: to, transfer_succeeded: succeeded } = call;
  return {
    ...call,
    ...(readings.transfer_to_form === "object" &&
      typeof to === "string" && { transfer_to: { type: "staff_line", phone_number: to } }),
    ...(readings.transfer_succeeded_form === "string" &&
      typeof succeeded === "boolean" && { transfer_succeeded: succeeded ? "succeeded" : "failed" }),
  };
}

import type { Handler } from "../work/handler.ts";
import { bookingCreated } from "./booking-created.ts";
import { callCompleted } from "./call-completed.ts";
import { callTransferred } from "./call-transferred.ts";
import { orderCreated } from "./order-created.ts";
import { voicemailCreated } from "./voicemail-created.ts";

/** Every handler. An event that none of them wants is ignored, and can be requeued later for a new one. */
export const handlers: readonly Handler[] = [
  callCompleted,
  callTransferred,
  voicemailCreated,
  orderCreated,
  bookingCreated,
];

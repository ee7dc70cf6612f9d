import "./library/node-version.ts";

export { createReceiver, type MountedReceiver } from "./library/create-receiver.ts";
export type { Fetch } from "./library/fetch.ts";
export type { ReceiverOptions } from "./library/options.ts";
export * from "./library/unwrap.ts";
export { defineHandler, handlersWith, PermanentFailure, RetryAfter } from "./work/handler.ts";
export type { CreateServices, HandledEvent, Handler } from "./work/handler.ts";
export type { HandlerContext, HandlerNeeding } from "./work/handler.ts";
export { callService, type ServiceAnswer } from "./work/call-service.ts";
export type { OnDead } from "./work/attempt.ts";
export type { InboxEvent, InboxJob } from "./store/port.ts";
export { createHandlerBench, type BenchResult, type HandlerBench } from "./work/bench.ts";
export type { Middleware } from "./intake/adapters.ts";
export type { Readiness } from "./operations/health.ts";
export { envelopeSchema, EVENT_TYPES, eventSchema, objectSchemas } from "../shared/events.ts";
export type { Envelope, EventObject, EventType } from "../shared/events.ts";
export type { SignatureProblem, Verification } from "../shared/signature.ts";

import type * as library from "./index.js" with { "resolution-mode": "import" };

export type * from "./index.js" with { "resolution-mode": "import" };
export declare const createReceiver: typeof library.createReceiver;
export declare const verifySignature: typeof library.verifySignature;
export declare const signForTest: typeof library.signForTest;
export declare const unwrap: typeof library.unwrap;
export declare const WebhookError: typeof library.WebhookError;
export declare const defineHandler: typeof library.defineHandler;
export declare const handlersWith: typeof library.handlersWith;
export declare const callService: typeof library.callService;
export declare const createHandlerBench: typeof library.createHandlerBench;
export declare const PermanentFailure: typeof library.PermanentFailure;
export declare const RetryAfter: typeof library.RetryAfter;
export declare const envelopeSchema: typeof library.envelopeSchema;
export declare const EVENT_TYPES: typeof library.EVENT_TYPES;
export declare const eventSchema: typeof library.eventSchema;
export declare const objectSchemas: typeof library.objectSchemas;

import { z } from "zod";
import {
  envelopeSchema,
  isEventType,
  objectSchemas,
  type EventObject,
  type EventType,
} from "../../shared/events.ts";
import type { Atomically, Migration } from "../engine.ts";
import type { HandlerLog } from "../operations/handler-log.ts";
import type { RestClient } from "../operations/rest-client.ts";

/** An event as a handler sees it: the envelope, with `data.object` as the handler's schema describes it. */
export type HandledEvent<Type extends string = string, Shape = unknown> = {
  id: string;
  type: Type;
  /** Unix time in seconds. */
  created: number;
  api_version: string;
  org_id: string;
  data: { object: Shape };
};

export type HandlerContext = {
  /** Counted from 1. */
  attempt: number;
  /**
   * Aborted at the deadline of the attempt (HANDLER_TIMEOUT_SECONDS), when another worker has the event, and shortly
   * before the receiver shuts down; hand it to whatever you wait for.
   */
  signal: AbortSignal;
  /** Writes to the receiver's log, with the event's id and type on every line. */
  log: HandlerLog;
  /** The event's id: hand it to every service that you call, so that a second attempt has no second effect. */
  idempotencyKey: string;
  /**
   * Writes to the receiver's database in one transaction that also marks the event done: these effects happen exactly
   * once. Call it last, at most once, and call no other service inside: it holds up other handlers, 5 s at the most.
   */
  atomically: Atomically;
  /** The service's REST API, when API_BASE_URL and API_KEY are set. */
  api: RestClient | undefined;
};

/** What runs for one type of event. Made by `defineHandler`. */
export type Handler = {
  type: string;
  migrations: readonly Migration[];
  /** Checks an envelope against the handler's schema and answers what to run, or what is wrong with it. */
  prepare: (
    envelope: unknown,
  ) => { ok: true; run: (context: HandlerContext) => Promise<void> } | { ok: false; problem: string };
};

type Definition<Type extends string, Shape> = {
  type: Type;
  /**
   * What the handler needs of `data.object`. An event without it is dead at once, with the reason: so ask for what you
   * use and nothing else. Left out, it is the schema of the service's own resource, every field of it.
   */
  object?: z.ZodType<Shape>;
  /**
   * What makes and changes the handler's tables: each runs once, in this order, before the first event. Only ever
   * append to the list. Where the dialects differ, one text for each: `{ sqlite, postgres }`.
   */
  migrations?: readonly Migration[];
  /** Returning means done; throwing means another attempt, unless it is `PermanentFailure` or `RetryAfter`. */
  handle: (event: HandledEvent<Type, Shape>, context: HandlerContext) => Promise<void>;
};

/** Defines what happens with events of one type. */
export function defineHandler<Type extends EventType>(
  definition: Definition<Type, EventObject<Type>>,
): Handler;
export function defineHandler<Type extends string, Shape>(
  definition: Definition<Type, Shape> & { object: z.ZodType<Shape> },
): Handler;
export function defineHandler(definition: Definition<string, unknown>): Handler {
  const { type, handle } = definition;
  const schema = envelopeSchema.extend({
    data: z.looseObject({ object: definition.object ?? resourceSchema(type) }),
  });
  return {
    type,
    migrations: definition.migrations ?? [],
    prepare: (envelope) => {
      const event = schema.safeParse(envelope);
      if (!event.success) return { ok: false, problem: describe(event.error) };
      return { ok: true, run: async (context) => handle(event.data, context) };
    },
  };
}

/** This event will never be handled, whatever is tried: it is dead now, and stays visible until it is requeued. */
export class PermanentFailure extends Error {
  override readonly name = "PermanentFailure";
}

/** Not now: the next attempt comes after this many seconds (a day at most) instead of the usual backoff. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly seconds: number;

  constructor(seconds: number, reason = `Asked to come back in ${String(seconds)} s.`) {
    super(reason);
    if (!(seconds >= 0)) throw new RangeError(`RetryAfter takes seconds from 0 on, not ${String(seconds)}.`);
    this.seconds = seconds;
  }
}

function resourceSchema(type: string): z.ZodType {
  return isEventType(type) ? objectSchemas[type] : z.unknown();
}

function describe(error: z.ZodError): string {
  const issues = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  return `The event lacks what its handler needs: ${issues.join("; ")}`;
}

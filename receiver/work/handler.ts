import { z } from "zod";
import type { EventObject, EventType } from "../../shared/events.ts";
import type { Atomically, Migration, Trace } from "../engine.ts";
import type { HandlerLog } from "../operations/handler-log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import { callerOf } from "./code-place.ts";
import { lenientSchemaFor, schemaWith } from "./event-schema.ts";
import type { Step } from "./steps.ts";

/** An event as a handler sees it: the envelope, with `data.object` as the handler's schema describes it. */
export type HandledEvent<Type extends string = string, Shape = unknown> = {
  id: string;
  type: "*" extends Type ? string : Type;
  /** Unix time in seconds. */
  created: number;
  api_version: string;
  org_id: string;
  data: { object: Shape };
};

export type HandlerContext<Services = unknown> = {
  /** Counted from 1. An attempt that ended with `RetryAfter` is not counted. */
  attempt: number;
  /**
   * Aborted at the deadline of the attempt, when another worker has the job, and shortly before the receiver shuts down;
   * hand it to whatever you wait for. A handler that goes on for 5 s beyond its deadline has its process replaced.
   */
  signal: AbortSignal;
  /** Writes to the receiver's log, with the event's id, the handler's name and the attempt on every line. */
  log: HandlerLog;
  /** The event's id: hand it to the service that you call, so that a second attempt has no second effect. */
  idempotencyKey: string;
  /** A key for one of several calls: the same for each attempt of this handler at this event, another for each `name`. */
  idempotencyKeyFor: (name: string) => string;
  /** Runs a part of the handler once: see `Step`. */
  step: Step;
  /** What `createServices()` made. */
  services: Services;
  /** What the request that brought the event said of itself, to continue a trace; null when it came otherwise. */
  trace: Trace | null;
  /**
   * Writes to the receiver's database in one transaction that also marks the job done: these effects happen exactly
   * once. Call it last, at most once, and call no other service inside: it holds up other handlers, 5 s at the most.
   */
  atomically: Atomically;
  /** The service's REST API, when API_BASE_URL and API_KEY are set. */
  api: RestClient | undefined;
};

const atLeastOne = z.int("must be a whole number from 1 on.").min(1, "must be a whole number from 1 on.");
const seconds = z
  .number("must be a number of seconds above 0.")
  .positive("must be a number of seconds above 0.");

/** Policies of a handler; each left out is the environment's value. */
const policiesSchema = z.object({
  /** After so many failed attempts the job is dead. Default: MAX_ATTEMPTS. */
  maxAttempts: atLeastOne.max(100, "must be 100 at the most.").optional(),
  /** Deadline of one attempt. Default: HANDLER_TIMEOUT_SECONDS. */
  timeoutSeconds: seconds.max(86_400, "must be a day (86400) at the most.").optional(),
  /** Jobs of this handler that run at one time in one worker. Default, and the most: WORKER_CONCURRENCY. */
  concurrency: atLeastOne.optional(),
  /** At most `limit` attempts begin within any `perSeconds`, of all workers together. Default: no limit. */
  rateLimit: z.strictObject({ limit: atLeastOne, perSeconds: seconds }).optional(),
});

/** What happens with events of some types. Made by `defineHandler`. */
export type Handler<Services = unknown> = Omit<Definition<string, unknown, Services>, "type" | "object"> & {
  types: readonly string[] | "*";
  /** File, line and column of its definition. */
  definedAt: string;
  /** Checks an envelope against the handler's schema: its event, or what is wrong with it. */
  parse(envelope: unknown): { ok: true; event: HandledEvent } | { ok: false; problem: string };
};

type Definition<Type extends string, Shape, Services> = z.infer<typeof policiesSchema> & {
  /** Unique, and kept for good: the handler's jobs and migrations are remembered under it. */
  name: string;
  /** One type, several, or `*` for all, also those that the service will have one day. */
  type: Type | readonly Type[] | "*";
  /**
   * What the handler needs of `data.object`. An event without it is dead at once, with the reason: so ask for what you
   * use and nothing else. Left out, every documented field may be missing, and is, where the service sent another kind.
   */
  object?: z.ZodType<Shape>;
  /**
   * What makes and changes the handler's tables: each runs once, in this order, before the first event. Only ever
   * append to the list. Where the dialects differ, one text for each: `{ sqlite, postgres }`.
   */
  migrations?: readonly Migration[] | undefined;
  /** Seconds until the next attempt after attempt `attempt` failed. Default: 5, 15, 45 … up to 6 h, less up to a fifth. */
  backoff?: ((attempt: number) => number) | undefined;
  /** Events with the same key are handled one at a time, in the order in which they were stored; a dead one blocks none. */
  key?(event: HandledEvent<Type, Shape>): string;
  /**
   * Returning means done; throwing means another attempt, unless it is `PermanentFailure` or `RetryAfter`. What it returns
   * is awaited, and not looked at.
   */
  handle(event: HandledEvent<Type, Shape>, context: HandlerContext<Services>): unknown;
};

/** `data.object` for a handler that has no schema: the service's fields, each of which may be missing or null. */
type Lenient<Type extends string> = Type extends EventType
  ? { [Field in keyof EventObject<Type>]?: EventObject<Type>[Field] | null }
  : { [field: string]: unknown };

export type DefineHandler<Services> = {
  <const Type extends string, Shape>(
    definition: Definition<Type, Shape, Services> & { object: z.ZodType<Shape> },
  ): Handler<Services>;
  <const Type extends string>(definition: Definition<Type, Lenient<Type>, Services>): Handler<Services>;
};

/** Defines what happens with events of some types. Throws where the definition cannot be meant. */
export const defineHandler: DefineHandler<unknown> = define;

/**
 * `defineHandler` for handlers that use what `createServices` makes: `context.services` has its type.
 *
 *     export const defineHandler = handlersWith<typeof createServices>();
 */
export function handlersWith<Create extends CreateServices>(): DefineHandler<
  Awaited<ReturnType<Create>>["services"]
> {
  return define;
}

/** Exported by a module of handlers: runs once in their process before the first job. */
export type CreateServices<Services = unknown> = () => Promise<{
  /** Handed to every handler as `context.services`. */
  services: Services;
  /** Called when no handler runs any more, and waited for within SHUTDOWN_TIMEOUT_SECONDS. */
  close?: () => Promise<void> | void;
}>;

/** Known to every copy of this module: a loader may give handlers one of their own, as tsx does in a CommonJS app. */
const AGAIN: unique symbol = Symbol.for("voice-agent-webhook-kit: when to try again");

/** What a handler says by what it throws: when to call it again, or never; undefined where it says nothing of that. */
export function againAfter(thrown: unknown): number | Date | "never" | undefined {
  const again = thrown instanceof Error && AGAIN in thrown ? thrown[AGAIN] : undefined;
  return typeof again === "number" || again instanceof Date || again === "never" ? again : undefined;
}

/** This event will never be handled, whatever is tried: its job is dead now, and stays visible until it is requeued. */
export class PermanentFailure extends Error {
  override readonly name = "PermanentFailure";
  readonly [AGAIN] = "never";
}

/** Not now: come back after so many seconds, or at that time. No failure: it uses up no attempt; MAX_AGE_HOURS bounds it. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly when: number | Date;
  readonly [AGAIN]: number | Date;

  constructor(when: number | Date, reason?: string) {
    if (!(typeof when === "number" ? when >= 0 : Number.isFinite(when.getTime())))
      throw new RangeError(`RetryAfter takes seconds from 0 on or a valid Date, not ${String(when)}.`);
    const time = typeof when === "number" ? `in ${String(when)} s` : `at ${when.toISOString()}`;
    super(reason ?? `Asked to come back ${time}.`);
    this.when = this[AGAIN] = when;
  }
}

function define<Services>(definition: Definition<string, unknown, Services>): Handler<Services> {
  const definedAt = callerOf(define);
  const { name, object, backoff, migrations, type } = definition;
  const checked = definitionSchema.safeParse(definition);
  if (!checked.success) {
    const problems = checked.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`);
    throw new TypeError(`The handler "${name}" (${definedAt}): ${problems.join("; ")}`);
  }
  const { type: _type, ...policies } = checked.data;
  const own = object && schemaWith(object);
  return {
    ...policies,
    types: type === "*" ? "*" : [...new Set([type].flat())],
    migrations,
    backoff,
    definedAt,
    ...(definition.key && { key: definition.key.bind(definition) }),
    handle: (event, context) => definition.handle(event, context),
    parse: (envelope) => {
      const { success, data: event, error } = (own ?? lenientSchemaFor(envelope)).safeParse(envelope);
      if (success) return { ok: true, event };
      const issues = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
      return { ok: false, problem: `The event lacks what its handler needs: ${issues.join("; ")}` };
    },
  };
}

const typesSchema = z.array(z.string().regex(/^(?!\*$)./)).min(1);

const definitionSchema = z.object({
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      "must be 1 to 64 letters, digits and . _ - such as send-to-kitchen.",
    ),
  type: z.custom<unknown>(
    (type) => type === "*" || typesSchema.safeParse([type].flat()).success,
    'must be a type such as "call.completed", a list of types, or "*".',
  ),
  ...policiesSchema.shape,
});

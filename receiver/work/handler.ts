import { z } from "zod";
import { envelopeSchema, objectSchemas, type EventObject, type EventType } from "../../shared/events.ts";
import type { Log } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import type { HandlerDatabase, Migration } from "../store/port.ts";

export type HandlerContext<Services = unknown> = {
  /** From 1. An attempt that ended with `RetryAfter` is not counted. */
  attempt: number;
  /** Aborted at the deadline of the attempt, and shortly before the receiver stops. Pass it to everything you wait for. */
  signal: AbortSignal;
  /** Writes to the receiver's log, with the event's id, the handler and the attempt on every line. */
  log: Pick<Log, "debug" | "info" | "warn" | "error">;
  /** The event's id. Pass it to the service you call, so that a second attempt has no second effect. */
  idempotencyKey: string;
  /** A key for one of several calls: the same for every attempt, different for each `name`. */
  idempotencyKeyFor: (name: string) => string;
  /**
   * Runs `run` once and records its result, as JSON, for later attempts. After a crash before that it runs again, so pass on
   * an idempotency key. Give each call in a handler its own name, and make none inside `atomically`.
   */
  step: <Result>(name: string, run: () => Promise<Result> | Result) => Promise<Json<Result>>;
  /** What `createServices()` returned. */
  services: Services;
  /**
   * Writes to the receiver's database in one transaction that also makes the job done: exactly once. Call it last, at most
   * once, and call other services before it. On SQLite it may await only its own queries.
   */
  atomically: <Result>(work: (db: HandlerDatabase) => Promise<Result>) => Promise<Result>;
  /** The service's REST API, if API_BASE_URL and API_KEY are set. */
  api: RestClient | undefined;
};

/** What remains of a value in JSON: a Date becomes its text. */
export type Json<Value> = Value extends { toJSON: () => infer Text }
  ? Text
  : Value extends object
    ? { [Field in keyof Value]: Json<Value[Field]> }
    : Value;

const count = z.int().min(1);
const seconds = z.number().positive();
const path = z.string().regex(/^(?:data(?:\.[\w-]+)+|[\w-]+)$/, 'must be a path such as "data.object.phone"');

/** Policies of a handler. Each defaults to its environment variable. */
const policiesSchema = z.object({
  /** The job is dead after this many failed attempts. Default: MAX_ATTEMPTS. */
  maxAttempts: count.max(100).optional(),
  /** Deadline of one attempt. Default: HANDLER_TIMEOUT_SECONDS. */
  timeoutSeconds: seconds.max(86_400).optional(),
  /** Jobs of this handler that run at the same time in one worker. Default and maximum: WORKER_CONCURRENCY. */
  concurrency: count.optional(),
  /** At most `limit` attempts start within `perSeconds`, in one worker. Default: no limit. */
  rateLimit: z.strictObject({ limit: count, perSeconds: seconds }).optional(),
});

const definitionSchema = policiesSchema.extend({
  name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "must be 1 to 64 letters, digits and . _ -"),
  type: z.union(
    [z.string().min(1), z.array(z.string().regex(/^(?!\*$)./)).min(1)],
    'must be a type such as "call.completed", a list of types, or "*"',
  ),
  key: z.union([path, z.array(path)]).default([]),
});

type Definition<Type extends string, Shape, Services> = z.infer<typeof policiesSchema> & {
  /** Unique and permanent: the handler's jobs and migrations are stored under it. */
  name: string;
  /** One type, several, or `*` for all, including future ones. */
  type: Type | readonly Type[] | "*";
  /**
   * The fields of `data.object` that the handler needs. An event that does not match is dead at once, so require only what
   * you use. Without it, every documented field may be missing.
   */
  object?: z.ZodType<Shape>;
  /** Create and change the handler's tables. Each runs once, in order, before the first event. Only append to the list. */
  migrations?: readonly Migration[] | undefined;
  /** Seconds until the next attempt after attempt `attempt` failed. Default: 5, 15, 45 … up to 6 h, less up to a fifth. */
  backoff?: ((attempt: number) => number) | undefined;
  /** Events with the same value at this path are handled one at a time, in order of arrival. A dead one blocks no others. */
  key?: KeyPath<Type, Shape> | readonly KeyPath<Type, Shape>[] | undefined;
  /** Return: done. Throw: retry, except `PermanentFailure` and `RetryAfter`. */
  handle(event: HandledEvent<Type, Shape>, context: HandlerContext<Services>): unknown;
};

/** Handles events of some types. Made by `defineHandler`. */
export type Handler<Services = unknown> = Omit<
  Definition<string, unknown, Services>,
  "type" | "object" | "key"
> & {
  types: readonly string[] | "*";
  key: readonly string[];
  /** The handler's event in an envelope. Throws `PermanentFailure` if it does not match the handler's schema. */
  parse(envelope: unknown): HandledEvent;
};

/** A handler with the type of the services it needs. `needs` is never set; it lets the compiler check for them. */
export type HandlerNeeding<Services> = Handler<Services> & { needs?: (services: Services) => void };

export type DefineHandler<Services> = {
  <const Type extends string, Shape>(
    definition: Definition<Type, Shape, Services> & { object: z.ZodType<Shape> },
  ): HandlerNeeding<Services>;
  <const Type extends string>(
    definition: Definition<Type, Lenient<Type>, Services>,
  ): HandlerNeeding<Services>;
};

/** Defines how events of some types are handled. Throws a `TypeError` that names each wrong policy. */
export const defineHandler: DefineHandler<unknown> = define;

/** `defineHandler` with the type of `context.services`: `const defineHandler = handlersWith<typeof createServices>()`. */
export const handlersWith = <Create extends CreateServices>(): DefineHandler<
  Awaited<ReturnType<Create>>["services"]
> => define;

/** Exported by a module of handlers: runs once in the handlers' process before the first job. */
export type CreateServices<Services = unknown> = () => Promise<{
  /** Passed to every handler as `context.services`. */
  services: Services;
  /** Called when no handler runs any more, and awaited. */
  close?: () => Promise<void> | void;
}>;

function define<Services>(definition: Definition<string, unknown, Services>): Handler<Services> {
  const checked = definitionSchema.safeParse(definition);
  if (!checked.success) {
    const error = new TypeError(`The handler "${definition.name}": ${z.prettifyError(checked.error)}`);
    // The stack starts where the handler is defined.
    Error.captureStackTrace(error, define);
    throw error;
  }
  const { type, key, ...policies } = checked.data;
  const { object, migrations, backoff } = definition;
  const schema = object && schemaWith(object);
  return {
    ...policies,
    types: type === "*" ? "*" : [...new Set([type].flat())],
    key: [key].flat(),
    migrations,
    backoff,
    handle: (event, context) => definition.handle(event, context),
    parse: (envelope) => {
      const { success, data, error } = (schema ?? lenientSchemaFor(envelope)).safeParse(envelope);
      if (success) return data;
      const issues = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
      throw new PermanentFailure(`The event lacks fields that its handler needs: ${issues.join("; ")}`);
    },
  };
}

/** The same symbol in every copy of this module, since a loader may give handlers their own copy. */
const AGAIN: unique symbol = Symbol.for("voice-agent-webhook-kit: when to try again");

/** When a thrown value asks for another try; undefined if it does not say. */
export function againAfter(thrown: unknown): number | Date | "never" | undefined {
  return thrown instanceof Error && AGAIN in thrown ? againSchema.safeParse(thrown[AGAIN]).data : undefined;
}
const againSchema = z.union([z.number(), z.date(), z.literal("never")]).optional();

/** The event can never be handled. Its job is dead at once, and stays visible until it is requeued. */
export class PermanentFailure extends Error {
  override readonly name = "PermanentFailure";
  readonly [AGAIN] = "never";
}

/** Tries again after so many seconds, or at a time. This is no failure and uses no attempt; MAX_AGE_HOURS bounds it. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly [AGAIN]: number | Date;

  constructor(when: number | Date, reason?: string) {
    const isTime = typeof when === "number" ? when >= 0 && when < Infinity : Number.isFinite(when.getTime());
    if (!isTime)
      throw new RangeError(`RetryAfter takes seconds from 0 on or a valid Date, not ${String(when)}.`);
    super(
      reason ??
        `Asked to come back ${typeof when === "number" ? `in ${when} s` : `at ${when.toISOString()}`}.`,
    );
    this[AGAIN] = when;
  }
}

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

/** `data.object` for a handler without a schema: every documented field may be missing or null. */
type Lenient<Type extends string> = Type extends EventType
  ? { [Field in keyof EventObject<Type>]?: EventObject<Type>[Field] | null }
  : { [field: string]: unknown };

/**
 * A path in an event of this type, such as `data.object.phone`. A field that is in neither the documentation nor the
 * handler's schema is a compile error. If the service documents no fields, every field is allowed.
 */
type KeyPath<Type extends string, Shape> = "org_id" | `data.object.${Documented<Type> | Field<Shape>}`;

type Documented<Type extends string> = Type extends EventType
  ? [Exclude<Field<EventObject<Type>>, "object">] extends [never]
    ? string
    : Field<EventObject<Type>>
  : string;

/** Names of fields, and paths of nested fields. */
type Field<Value> = Value extends readonly unknown[]
  ? never
  : Value extends object
    ? { [Name in Named<Value>]: Name | `${Name}.${Field<NonNullable<Value[Name]>>}` }[Named<Value>]
    : never;

/** Without an index signature. */
type Named<Value> = keyof { [Name in keyof Value as string extends Name ? never : Name]: 1 } &
  keyof Value &
  string;

/** The schema of an envelope with this `data.object`. */
function schemaWith(object: z.ZodType) {
  return envelopeSchema.extend({ data: z.looseObject({ object }) });
}

/** The schema for a handler without one: a documented field of another kind counts as missing. */
function lenientSchemaFor(envelope: unknown): ReturnType<typeof schemaWith> {
  return lenientSchemas.get(typeSchema.safeParse(envelope).data?.type ?? "") ?? anything;
}

const typeSchema = z.looseObject({ type: z.string() });
const anything = schemaWith(z.looseObject({}));
const lenientSchemas = new Map(
  Object.entries(objectSchemas).map(([type, { shape }]) => {
    const fields = Object.entries(shape).map(([name, field]: [string, z.ZodType]) => {
      // Only the kind matters: a string in a new format is still a string.
      const kind = field instanceof z.ZodString ? z.string() : field;
      return [name, kind.nullish().catch(undefined)] as const;
    });
    return [type, schemaWith(z.looseObject(Object.fromEntries(fields)))];
  }),
);

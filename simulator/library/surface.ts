/// <reference types="node" preserve="true" />
import type { Envelope, EventType } from "../../shared/events.ts";
import type { ClockMode } from "../domain/clock.ts";
import type { FaultName } from "../domain/faults.ts";
import type { CamelCase } from "../domain/names.ts";
import type { Answer } from "../domain/outcome.ts";
import type { Readings } from "../domain/readings.ts";
import type { SelectionFields } from "../domain/selection.ts";
import type { countSchema } from "../domain/job-shapes.ts";
import type { attemptSchema, deliverySchema, endpointSchema } from "../domain/shapes.ts";
import type { Dated } from "../domain/spelling.ts";

// The library's types: to compile against them, only the types of zod and of Node.js are needed.

/** A fault by its name, on every attempt, or on the first N of each delivery: `drop-answer:1`. */
export type FaultText = FaultName | `${FaultName}:${1 | 2 | 3 | 4 | 5 | 6}`;

export type StartOptions = {
  /** Port of the service; any free one unless given. */
  port?: number;
  /** How schedule time runs; `manual` unless given: no retry is made until your test moves the clock. */
  clock?: ClockMode;
  /** Same seed, same ids and data. Drawn at random unless given, since a receiver remembers ids between runs. */
  seed?: number;
  /** Keeps the state in this file; in memory unless given. */
  dataFile?: string;
  /** Calls in the generated history of each test world; 120 unless given. */
  calls?: number;
  /** Choices for what the specification leaves open, such as `{ limit_out_of_range: "clamp" }`. */
  readings?: Partial<Readings>;
  /** Faults for every endpoint, such as `["duplicate"]`, or `["drop-answer:1"]` on first attempts only. */
  faults?: readonly FaultText[];
  /** Hosts that endpoints may have over http, as loopback names, and with private addresses. */
  allowedHosts?: readonly string[];
  /** How long an endpoint has to answer. The service gives it 10 s; less makes a test of slow answers quick. */
  answerTimeoutMs?: number;
  /** How many requests are under way to one endpoint at a time; 16 unless given. */
  concurrency?: number;
};

export type EmitOptions = {
  /** Fields of `data.object` that replace the generated ones, merged deeply. */
  object?: Record<string, unknown>;
  /** The organization it happens in; one that fits the event type unless given. */
  orgId?: string;
  /** How many such events; one unless given. */
  count?: number;
  /** Faults for these events only. */
  faults?: readonly FaultText[];
};

/** The triggered events: their envelopes as sent, and the ids of their deliveries. */
export type Emitted = { events: Envelope[]; deliveries: DeliveryRecord[] };

/** A story that has begun, and when its last step happens in schedule time. */
export type Story = { name: string; steps: number; endsAt: Date };

/** A running simulator of the whole service, in this process. */
export type RunningSimulator = {
  /** Where it listens: `${url}/api/v1`, `${url}/dashboard`. */
  readonly url: string;
  /** The seed of its data; pass it as `seed` to get the same data again. */
  readonly seed: number;
  /** The organizations, each with the API key that reads it. */
  organizations(): { id: string; name: string; industry: string; apiKey: string }[];
  /**
   * Makes something happen in the world, and sends its event to every endpoint that selected it. Resolves when the due
   * attempts have ended: the first attempts with the clock `manual` or `real`, the whole schedule with `skip`.
   */
  emit(type: EventType, options?: EmitOptions): Promise<Emitted>;
  /**
   * Begins a scenario of several events: `busy-friday`, `after-hours-voicemail`, `failed-transfer`, `order-then-complaint`,
   * `outage`, or a scenario of your own. Its steps happen as the clock moves on; resolves as `emit` does.
   */
  tell(scenario: string | object): Promise<Story>;
  readonly deliveries: DeliveryControl;
  readonly clock: ClockControl;
  readonly endpoints: EndpointControl;
  /** Deletes events and deliveries, and by default endpoints; the seeded world stays unchanged. */
  reset(options?: { keepEndpoints?: boolean }): Promise<void>;
  /** Ends attempts under way, closes every socket and timer. A second call does nothing. */
  close(): Promise<void>;
  /** Closes it at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** Schedule time: decides when attempts are due and dates events. It never affects a signature's `t`. */
export type ClockControl = {
  now(): Date;
  mode(): ClockMode;
  setMode(mode: ClockMode): void;
  /** Moves forward by seconds, or by `"5m"`, `"12h"`, `"1h30m"`. Resolves when the attempts that fell due were made. */
  advance(duration: number | string): Promise<void>;
  /** Moves to the next due attempt. Resolves when it was made; at once when none is due. */
  next(): Promise<void>;
  /** Runs the schedule to its end: resolves when every delivery is delivered or dead. */
  run(): Promise<void>;
};

/** One event on its way to one endpoint. Times without `wall` are schedule time. */
export type DeliveryRecord = Omit<Dated<typeof deliverySchema>, "attempts"> & { attempts: AttemptRecord[] };

/** One HTTP try, counted from 1. */
export type AttemptRecord = Dated<typeof attemptSchema> & {
  request: { url: string; headers: Record<string, string>; body: Buffer };
  /** The answer, its body up to 16 KiB; null if there was none. */
  answer: Answer | null;
};

/**
 * Which deliveries: all given conditions must match. `q` is a query such as `"needle status:500 order.total:>50"`; times are
 * dates, ISO 8601, or a duration before now (`"1h"`), all of schedule time.
 */
export type DeliverySelection = {
  [Name in keyof SelectionFields as CamelCase<Name>]?:
    | SelectionFields[Name]
    | (Name extends "since" | "until" | `${string}_since` | `${string}_until` ? Date : never);
};

export type DeliveryCount = Dated<typeof countSchema>;

export type DeliverySearch = DeliverySelection & { limit?: number };

export type DeliveryControl = {
  /** Newest first, at most 1,000 by default. */
  list(search?: DeliverySearch): DeliveryRecord[];
  /** Throws if the delivery does not exist. */
  get(id: string): DeliveryRecord;
  /** Resolves when nothing is under way and nothing is due now (with the clock `skip`: nothing is due any more). */
  settled(): Promise<void>;
  /** Resolves when this delivery is delivered or dead; a `manual` clock must be moved for that. */
  finished(id: string): Promise<DeliveryRecord>;
  /** How many deliveries a selection has, by endpoint and event type; all of them without one. */
  count(selection?: DeliverySelection): Promise<DeliveryCount>;
  /** Sends the same event to the same endpoint again, as a new delivery, and resolves as `emit` does. */
  resend(id: string): Promise<DeliveryRecord>;
  /**
   * Sends all of a selection again, delivered ones included: the last delivery of each event to each endpoint, the oldest
   * first. Resolves as `emit` does, with how many that were.
   */
  resendAll(selection: DeliverySelection): Promise<{ total: number }>;
  /**
   * Sends an envelope, newly signed, to every endpoint that selected its type. Throws if its id belongs to another event
   * here; `newId` sends it under a new id.
   */
  replay(envelope: Envelope, options?: { newId?: boolean }): Promise<DeliveryRecord[]>;
};

export type EndpointRequest = {
  /** https, or http on loopback. */
  url: string;
  /** The selection; every event type unless given. */
  eventTypes?: readonly EventType[];
  /** Only events of this organization; of all unless given. */
  orgId?: string | null;
  /** Generated unless given. */
  secret?: string;
  /** Faults for this endpoint. */
  faults?: readonly FaultText[];
};

export type Rotation = {
  /** The new secret; generated unless given. */
  secret?: string;
  /** How long the old secret keeps signing, in schedule time: seconds, or a text such as `"12h"`; a day by default. */
  overlap?: number | string;
};

/** An endpoint; of its secrets only the last four characters are shown. */
export type EndpointRecord = Dated<typeof endpointSchema>;

/** Only `add` and `rotate` return this: the endpoint with its signing secret. */
export type RegisteredEndpoint = EndpointRecord & { secret: string };

export type EndpointControl = {
  /** Registers an endpoint; throws with what to change when the service would refuse it. */
  add(endpoint: EndpointRequest): RegisteredEndpoint;
  list(): EndpointRecord[];
  /** Throws if the endpoint does not exist. */
  get(id: string): EndpointRecord;
  change(id: string, settings: Partial<Omit<EndpointRequest, "secret">>): EndpointRecord;
  /** Gives an endpoint a new secret; the old one keeps signing for a while. */
  rotate(id: string, rotation?: Rotation): RegisteredEndpoint;
  remove(id: string): void;
  /** The dashboard's test action: sends a synthetic `call.completed` only to this endpoint. Returns its event id. */
  test(id: string): Promise<string>;
};

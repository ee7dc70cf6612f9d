import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

export type Event = {
  id: string;
  type: string;
  created: number;
  data: { object: Record<string, unknown> };
} & Record<string, unknown>;

/** The parts that can be wrong. A mutant replaces one or two of them. */
export type Behaviour = {
  serverOptions: { requestTimeout?: number };
  /** Sees the request before its body; returns undefined, or the status with which to refuse it. */
  precheck(request: IncomingMessage, state: State): number | undefined;
  signatureHeaders(request: IncomingMessage): string[];
  readBody(request: IncomingMessage, state: State): Promise<Buffer>;
  maximumBodyBytes: number;
  /** Of several, empty or missing headers: the one that counts, or why none does. */
  chooseHeader(headers: string[]): string | undefined;
  /** The pairs of the header: every t and every v1. */
  takeApart(header: string, state: State): { ts: string[]; v1s: string[] };
  /** The t whose age is checked, and the t that is part of the signed string. */
  chooseT(ts: string[], nowSeconds: number): { aged: string; signed: string } | undefined;
  chooseV1(v1s: string[]): string[];
  ageAccepted(t: string, nowMs: number): boolean;
  /** The accepted signed strings. */
  signedStrings(t: string, body: Buffer): (Buffer | string)[];
  keys(secret: string): string[];
  digestAccepted(candidate: string, expected: Buffer, state: State): boolean;
  /** The verdict on all of the above; a careless receiver overrides it. */
  verdict(verified: boolean, headers: string[], state: State): boolean;
  /** Whether this request is verified at all. */
  verifies(request: IncomingMessage, body: Buffer): boolean;
  parse(body: Buffer, state: State): unknown;
  /** Whether the parsed event is accepted: true, or the status with which to refuse it. */
  acceptable(event: Event, state: State): true | number;
  /** Runs before verification. */
  onUnverified(body: Buffer, state: State): void;
  dedupeKey(event: Event, body: Buffer): string;
  /** Stores a key; returns false if it was known. */
  remember(key: string, state: State): Promise<boolean> | boolean;
  duplicateStatus: number;
  /** Work before the answer; if it resolves with a status, that refuses the event. */
  beforeAnswer(event: Event, state: State): Promise<number | void> | number | void;
  answer(response: ServerResponse, status: number): void;
  /** When an accepted event is handled, after the answer. */
  handledAfterMs(event: Event): number;
  /** How often an accepted event is handled. */
  handlings(event: Event, state: State): number;
  afterHandled(event: Event, state: State): void;
  onAborted(partial: Buffer, state: State): void;
  onClientError(error: NodeJS.ErrnoException, state: State, bytesRead: number): void;
};

/** What a receiver keeps, in memory. */
export type State = {
  /** Wall time in milliseconds. */
  now: () => number;
  seen: Map<string, number>;
  handled: Map<string, number>;
  /** Copies of an event that are being answered. */
  open: Map<string, number>;
  inFlight: number;
  requests: number;
  /** How often each event has arrived. */
  copies: Map<string, number>;
  newestCreated: number;
  /** The first value seen for an object, an event or a connection, for mutants that compare. */
  firsts: Map<unknown, unknown>;
  secret: string;
  /** Ends the process, for mutants that a request can kill. */
  die(): void;
};

/** Every part, correct. */
export const CORRECT: Behaviour = {
  serverOptions: {},
  precheck: () => undefined,
  signatureHeaders: (request) => request.headersDistinct["x-service-signature"] ?? [],
  readBody: async (request) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      throw new Aborted(Buffer.concat(chunks));
    }
    return Buffer.concat(chunks);
  },
  maximumBodyBytes: 2_000_000,
  chooseHeader: (headers) => (headers.length === 1 ? headers[0] : undefined),
  takeApart: (header) => {
    const pairs = header
      .split(",")
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
    const values = (key: string): string[] =>
      pairs.filter(([name]) => name === key).map(([, value]) => value ?? "");
    return { ts: values("t"), v1s: values("v1") };
  },
  chooseT: ([t, ...more]) => (t === undefined || more.length > 0 ? undefined : { aged: t, signed: t }),
  chooseV1: (v1s) => v1s,
  ageAccepted: (t, nowMs) => /^\d{1,15}$/.test(t) && Math.abs(Math.floor(nowMs / 1_000) - Number(t)) <= 300,
  signedStrings: (t, body) => [Buffer.concat([Buffer.from(`${t}.`), body])],
  keys: (secret) => [secret],
  digestAccepted: (candidate, expected) =>
    /^[0-9a-f]{64}$/.test(candidate) && timingSafeEqual(Buffer.from(candidate, "hex"), expected),
  verdict: (isVerified) => isVerified,
  verifies: () => true,
  parse: (body) => {
    try {
      return JSON.parse(body.toString("utf8")) as unknown;
    } catch {
      return undefined;
    }
  },
  acceptable: () => true,
  onUnverified: () => undefined,
  dedupeKey: (event) => event.id,
  remember: (key, state) => {
    if (state.seen.has(key)) return false;
    state.seen.set(key, state.requests);
    return true;
  },
  duplicateStatus: 200,
  beforeAnswer: () => undefined,
  answer: (response, status) => {
    response.writeHead(status, { "content-type": "application/json" }).end(`{"status":${status}}`);
  },
  handledAfterMs: () => 0,
  handlings: () => 1,
  afterHandled: () => undefined,
  onAborted: () => undefined,
  onClientError: () => undefined,
};

/** A body that never became complete, and what there was of it. */
export class Aborted extends Error {
  readonly partial: Buffer;

  constructor(partial: Buffer) {
    super("the connection was cut in the middle of a body");
    this.partial = partial;
  }
}

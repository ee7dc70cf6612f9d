import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

type Event = {
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

export type RunningReceiver = {
  url: string;
  /** How often an event was handled. */
  handled(eventId: string): number;
  close(): Promise<void>;
};

export const SECRET = "whsec_mutants";

/** A small correct receiver in plain node:http; `changes` add a bug. */
export async function startMutant(
  changes: Partial<Behaviour>,
  now: () => number,
  port = 0,
): Promise<RunningReceiver> {
  const behaviour: Behaviour = { ...CORRECT, ...changes };
  const state: State = {
    now,
    seen: new Map(),
    handled: new Map(),
    open: new Map(),
    inFlight: 0,
    requests: 0,
    copies: new Map(),
    newestCreated: 0,
    firsts: new Map(),
    secret: SECRET,
    die() {
      webhooks.close();
      webhooks.closeAllConnections();
    },
  };
  const webhooks = createServer(behaviour.serverOptions, (request, response) => {
    // Its clock is the given one; node's own Date header would show the real time.
    response.sendDate = false;
    void receive(request, response, behaviour, state);
  });
  webhooks.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    behaviour.onClientError(error, state, socket instanceof Socket ? socket.bytesRead : 0);
    socket.destroy();
  });
  webhooks.listen(port, "127.0.0.1");
  await once(webhooks, "listening");
  const address = webhooks.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/webhooks`,
    handled: (eventId) => state.handled.get(eventId) ?? 0,
    async close() {
      webhooks.closeAllConnections();
      await new Promise((resolve) => webhooks.close(resolve));
    },
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
  state: State,
): Promise<void> {
  state.requests += 1;
  state.inFlight += 1;
  const answer = (status: number): void => {
    state.inFlight -= 1;
    behaviour.answer(response, status);
  };
  const refused = behaviour.precheck(request, state);
  if (refused !== undefined) {
    request.resume();
    return answer(refused);
  }
  if (request.method !== "POST") return answer(405);

  let body: Buffer;
  try {
    body = await behaviour.readBody(request, state);
  } catch (error) {
    if (error instanceof Aborted) behaviour.onAborted(error.partial, state);
    return answer(400);
  }
  if (body.length > behaviour.maximumBodyBytes) return answer(413);
  behaviour.onUnverified(body, state);
  const headers = behaviour.signatureHeaders(request);
  const isRefused = !behaviour.verdict(verified(headers, body, behaviour, state), headers, state);
  if (isRefused && behaviour.verifies(request, body)) return answer(401);

  const event = behaviour.parse(body, state);
  if (!isEvent(event)) return answer(400);
  const acceptable = behaviour.acceptable(event, state);
  if (acceptable !== true) return answer(acceptable);
  state.copies.set(event.id, (state.copies.get(event.id) ?? 0) + 1);
  const status = await behaviour.beforeAnswer(event, state);
  if (status !== undefined) return answer(status);
  const key = behaviour.dedupeKey(event, body);
  const fresh = await behaviour.remember(key, state);
  if (fresh) {
    // Handled after the answer, as heavy work should be.
    const times = behaviour.handlings(event, state);
    const handle = (): void => {
      state.handled.set(event.id, (state.handled.get(event.id) ?? 0) + times);
      behaviour.afterHandled(event, state);
    };
    const delayMs = behaviour.handledAfterMs(event);
    if (delayMs === 0) setImmediate(handle);
    else setTimeout(handle, delayMs).unref();
  }
  answer(fresh ? 200 : behaviour.duplicateStatus);
}

function verified(headers: string[], body: Buffer, behaviour: Behaviour, state: State): boolean {
  const header = behaviour.chooseHeader(headers);
  if (header === undefined) return false;
  const { ts, v1s } = behaviour.takeApart(header, state);
  const t = behaviour.chooseT(ts, Math.floor(state.now() / 1_000));
  if (t === undefined || !behaviour.ageAccepted(t.aged, state.now())) return false;
  const expected = behaviour
    .keys(state.secret)
    .flatMap((key) =>
      behaviour
        .signedStrings(t.signed, body)
        .map((signed) => createHmac("sha256", key).update(signed).digest()),
    );
  return behaviour
    .chooseV1(v1s)
    .some((candidate) => expected.some((digest) => behaviour.digestAccepted(candidate, digest, state)));
}

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

function isEvent(value: unknown): value is Event {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    /^evt_[0-9a-fA-F]{32}$/.test(value.id) &&
    "type" in value &&
    typeof value.type === "string" &&
    "data" in value &&
    typeof value.data === "object" &&
    value.data !== null &&
    "object" in value.data &&
    typeof value.data.object === "object" &&
    value.data.object !== null
  );
}

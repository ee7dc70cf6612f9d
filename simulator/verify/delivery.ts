import { setTimeout as sleep } from "node:timers/promises";
import type { Envelope } from "../../shared/events.ts";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import { isSuccess } from "../domain/judgement.ts";
import { evaluate } from "../signature-recipe/evaluate.ts";
import { GENUINE, moment, type Part, type SignatureRecipe } from "../signature-recipe/recipe.ts";
import { createRedactor, type Redact } from "../text/redact.ts";
import { openWire, type Outcome, type Target, type WireConnection } from "./wire.ts";

/** An event, or the exact bytes of a body. */
export type Deliverable = Envelope | Uint8Array;

/** A body that goes out piece by piece: cut in front of the bytes with these numbers, with a pause at each cut. */
export type Pieces = { cutAt: number[]; pauseMs: number };

/** Deviations of a delivery from the service's. */
export type DeliverOptions = {
  /** Signs with another secret. */
  secret?: string | undefined;
  /** The age of `t`; negative for one in the future. */
  ageSeconds?: number;
  /** The text of `t`, in place of `ageSeconds`. */
  timestamp?: Part[];
  /** The values of the signature header, one for each header; none omits it. */
  signature?: Part[][];
  /** Signs these bytes, though others are sent. */
  signedBody?: Uint8Array;
  signatureHeaderName?: string;
  /** Headers in place of `Content-Type: application/json`. */
  headers?: [name: string, value: string][];
  chunked?: boolean;
  httpVersion?: "1.0" | "1.1";
  /** The body goes out piece by piece, the headers with the first; a `note` says so. */
  pieces?: Pieces;
  /** Leaves the connection open for the next request. */
  keepAlive?: boolean;
  /** A sentence for the evidence about other requests that the result depends on. */
  note?: string;
  /** The receiver must not accept this event: it is forged, stale or incomplete. */
  forged?: boolean;
  /** Another way to put the request on the wire than in one piece, and its description. */
  manner?: { note: string; send: (wire: WireConnection, composed: Composed) => Promise<void> };
  timeoutMs?: number;
};

/** A whole signed request, as bytes. */
export type Composed = { head: Buffer; body: Buffer; framedBody: Buffer; request: SentRequest };

/** The request, for the evidence. */
export type SentRequest = {
  url: string;
  headers: [name: string, value: string][];
  body: Buffer;
  /** How its signature came about, so that the request can be signed afresh. */
  signature: { headerName: string; recipe: SignatureRecipe };
  httpVersion: "1.0" | "1.1";
  /** How it was sent, or what happened at the same time. With a note but no pieces, one request alone cannot repeat it. */
  note?: string | undefined;
  /** How its body was cut up on its way. */
  pieces?: Pieces | undefined;
};

export type Exchange = { eventId: string; request: SentRequest; outcome: Outcome; durationMs: number };

/** An exchange, and the check that it was for; a receiver must not act on a `forged` one. */
export type Recorded = { checkId: string; exchange: Exchange; forged: boolean; connected: boolean };

/** Makes `deliver`, which signs, sends, waits and enters the exchange in the ledger with the secret taken out. */
export function createDelivery(options: {
  target: Target;
  secret: string;
  /** How long an answer may take, evaluated for each delivery. */
  answerTimeoutMs: () => number;
  checkId: string;
  ledger: { record: (delivery: Recorded) => void };
  nowSeconds: () => number;
}) {
  const { target, checkId, ledger } = options;
  const redact = createRedactor([options.secret]);

  function compose(what: Deliverable, changes: DeliverOptions = {}): Composed {
    const body = Buffer.from(what instanceof Uint8Array ? what : JSON.stringify(what));
    const note = changes.manner?.note ?? changes.note;
    const headerName = changes.signatureHeaderName ?? SIGNATURE_HEADER;
    const { secret: key, ageSeconds = 0, timestamp, signature, signedBody } = changes;
    const t = timestamp ?? [moment(ageSeconds)];
    const recipe = { t, headers: signature ?? GENUINE.headers, key, signedBody };
    const nowSeconds = options.nowSeconds();
    const signatures = evaluate(recipe, { secret: options.secret, body, nowSeconds });

    const headers: [string, string][] = [
      ["Host", target.host],
      ["User-Agent", "voice-agent-simulator-verify"],
      ...(changes.headers ?? [["Content-Type", "application/json"]]),
      // Header bytes beyond ASCII travel as Latin-1, one byte a character.
      ...signatures.map((value): [string, string] => [headerName, value.toString("latin1")]),
      changes.chunked === true ? ["Transfer-Encoding", "chunked"] : ["Content-Length", String(body.length)],
    ];
    if (changes.keepAlive !== true) headers.push(["Connection", "close"]);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const httpVersion = changes.httpVersion ?? "1.1";
    const requestLine = `POST ${target.path} HTTP/${httpVersion}\r\n`;
    return {
      head: Buffer.from(`${requestLine}${lines}\r\n`, "latin1"),
      body,
      framedBody: changes.chunked === true ? chunk(body) : body,
      request: {
        url: target.url,
        headers,
        body,
        signature: { headerName, recipe },
        httpVersion,
        note,
        pieces: changes.pieces,
      },
    };
  }

  async function deliver(what: Deliverable, changes: DeliverOptions = {}): Promise<Exchange> {
    const startedAt = performance.now();
    const wire = await openWire(target, changes.timeoutMs ?? options.answerTimeoutMs());
    const exchange = await deliverOver(wire, what, { ...changes, startedAt });
    wire.close();
    return exchange;
  }

  /** Delivers over a connection that is there; `onAnswer` is called as soon as the status line is, before the body. */
  async function deliverOver(
    wire: WireConnection,
    what: Deliverable,
    changes: DeliverOptions & { startedAt?: number; onAnswer?: (outcome: Outcome) => void } = {},
  ): Promise<Exchange> {
    const { startedAt = performance.now(), onAnswer, forged = false } = changes;
    const composed = compose(what, changes);
    await send(wire, composed, changes);
    const outcome = await wire.answer(onAnswer === undefined ? {} : { bodyMs: 0 });
    onAnswer?.(outcome);
    const made = {
      eventId: what instanceof Uint8Array ? idIn(what) : what.id,
      request: composed.request,
      outcome: redacted(outcome, redact),
      durationMs: performance.now() - startedAt,
    };
    ledger.record({ checkId, exchange: made, forged, connected: wire.connected });
    return made;
  }

  return { compose, deliver, deliverOver };
}

async function send(wire: WireConnection, composed: Composed, changes: DeliverOptions): Promise<void> {
  const { head, framedBody } = composed;
  const { manner, pieces } = changes;
  if (manner !== undefined) return manner.send(wire, composed);
  if (pieces === undefined) return wire.write(Buffer.concat([head, framedBody]));
  const [first = Buffer.alloc(0), ...others] = cutUp(framedBody, pieces);
  return writePaced(wire, [Buffer.concat([head, first]), ...others], pieces.pauseMs);
}

/** How much later than planned the pieces of a request may be on a busy machine. */
const LATE_MS = 1_000;

/** Writes pieces with a pause between any two. A busy machine wakes late: once that is too much, the rest has no pauses. */
export async function writePaced(
  wire: Pick<WireConnection, "write">,
  pieces: readonly Buffer[],
  pauseMs: number,
): Promise<void> {
  const startedAtMs = performance.now();
  for (const [index, piece] of pieces.entries()) {
    const isLate = performance.now() - startedAtMs > index * pauseMs + LATE_MS;
    if (index > 0 && !isLate) await sleep(pauseMs);
    await wire.write(piece);
  }
}

/** `bytes` cut by `pieces`; cuts beyond the end have no effect. */
function cutUp(bytes: Buffer, { cutAt }: Pieces): Buffer[] {
  const starts = [0, ...cutAt];
  return starts
    .map((start, index) => bytes.subarray(start, starts[index + 1]))
    .filter((piece) => piece.length > 0);
}

function redacted(outcome: Outcome, redact: Redact): Outcome {
  if (outcome.kind === "no_answer") return { ...outcome, message: redact.text(outcome.message) };
  const headers = outcome.headers.map(([name, value]): [string, string] => [name, redact.text(value)]);
  return { ...outcome, headers, body: redact.bytes(outcome.body) };
}

/** Whether the sender would count the delivery as done: a final 2xx in time. */
export function isAcknowledged({ outcome }: Pick<Exchange, "outcome">): boolean {
  return outcome.kind === "answered" && isSuccess(outcome.status);
}

export function hasTimedOut({ outcome }: Exchange): boolean {
  return outcome.kind === "no_answer" && outcome.error === "timeout";
}

/** Whether the receiver says that it ends the connection with this answer. */
export function isLastOfConnection({ headers }: Extract<Outcome, { kind: "answered" }>): boolean {
  return headers.some(
    ([name, value]) => name.toLowerCase() === "connection" && value.toLowerCase() === "close",
  );
}

function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);
}

/** The event id in a body that a check wrote by hand, or "" if there is none. */
export function idIn(body: Uint8Array): string {
  return /evt_[0-9a-fA-F]{32}/.exec(Buffer.from(body).toString("latin1"))?.[0] ?? "";
}

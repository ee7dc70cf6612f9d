import { EventEmitter, once } from "node:events";
import { causeOf, CAUSES } from "../domain/causes.ts";
import type { AttemptError } from "../domain/outcome.ts";
import { createKeptAnswer } from "../sender/answer.ts";
import type { AnswerHead } from "../sender/answer-head.ts";
import { type Connection, type Exchange, openConnection } from "../sender/connection.ts";
import { classifyError, classifyStatus, failureWords } from "../sender/outcome.ts";
import { createTurns } from "../sender/turns.ts";
import { bareHost } from "../domain/endpoint-url.ts";

/** Where a receiver listens. */
export type Target = { url: string; path: string; host: string };

/** A final answer to one request. */
export type Answer = {
  status: number;
  headers: [name: string, value: string][];
  /** What arrived of the body, at most 16 KiB. */
  body: Buffer;
  complete: boolean;
};

/** How one request ended, as the sender would see it. */
export type Outcome = ({ kind: "answered" } & Answer) | NoAnswer;

export type NoAnswer = {
  kind: "no_answer";
  error: Exclude<AttemptError, "interrupted"> | "cut";
  message: string;
};

/** One connection to a receiver, written to byte by byte. Every method may be called in any state. */
export type WireConnection = Awaited<ReturnType<typeof openWire>>;

export function parseTarget(url: string): Target {
  const { pathname, search, host } = new URL(url);
  return { url, path: pathname + search, host };
}

/** A connection that a check left open is cut after this many times its time limit. */
const LIFETIME_LIMITS = 3;
/** The maximum read of a body: only the status line counts (SPEC §6 Delivery). */
const MOST_BODY_BYTES = 1024 * 1024;
/** Receivers that flood us are read one piece in a turn of the event loop, whichever check they flood. */
const turns = createTurns();

/**
 * Connects to `target`, and reads with the sender's own reader: an answer that the sender rejects is none here either.
 * Answers are due `timeoutMs` after this call by default, and writing also ends then. Never throws.
 */
export async function openWire(target: Target, timeoutMs: number) {
  const startedAt = performance.now();
  const changes = new EventEmitter();
  const changed = (): void => void changes.emit("changed");
  let failure: NoAnswer | undefined;
  let connection: Connection | undefined;
  let isReady = false;
  let head: AnswerHead | undefined;
  let kept: ReturnType<typeof createKeptAnswer> | undefined;
  let bodyBytes = 0;
  let isWhole = false;

  const exchange: Exchange = {
    onHead(arrived) {
      head = arrived;
      kept = createKeptAnswer(arrived);
      changed();
    },
    onBody(bytes) {
      kept?.take(bytes);
      bodyBytes += bytes.byteLength;
      if (bodyBytes <= MOST_BODY_BYTES) return;
      connection?.destroy();
      changed();
    },
    onWhole() {
      isWhole = true;
      changed();
    },
    onFailure({ error, detail }) {
      failure ??= noAnswer(error, detail);
      changed();
    },
  };

  async function until(ready: () => boolean, dueAt: number): Promise<void> {
    while (!ready()) {
      const leftMs = Math.ceil(dueAt - performance.now());
      if (leftMs <= 0) return;
      // Not AbortSignal.timeout(), which lets the process end when nothing else is under way.
      const timer = setTimeout(changed, leftMs);
      await once(changes, "changed");
      clearTimeout(timer);
    }
  }

  function begin(): void {
    [head, kept, bodyBytes, isWhole] = [undefined, undefined, 0, false];
    connection?.begin(exchange);
  }

  try {
    const url = new URL(target.url);
    // The user who asks for a verdict has allowed this host.
    const allowedHosts = [bareHost(url)];
    connection = openConnection({ url, allowedHosts, turns });
    connection.setNoDelay();
    begin();
    connection.whenReady(() => {
      isReady = true;
      changed();
    });
  } catch (error) {
    exchange.onFailure(classifyError(error));
  }
  await until(() => isReady || failure !== undefined, startedAt + timeoutMs);
  if (!isReady) failure ??= notWithin(timeoutMs, "connection");
  const lifetime = setTimeout(() => connection?.destroy(), LIFETIME_LIMITS * timeoutMs).unref();
  const close = (): void => {
    clearTimeout(lifetime);
    connection?.destroy();
  };
  if (failure !== undefined) close();

  return {
    /** Whether the connection could be made; if not, every answer() says why. */
    connected: isReady,
    /** Resolves when the bytes are on their way, or when waiting for a receiver that does not read is of no use. */
    async write(bytes: Uint8Array): Promise<void> {
      if (connection?.isOpen() !== true || bytes.byteLength === 0) return;
      let isFlushed = false;
      connection.write(bytes, () => {
        isFlushed = true;
        changed();
      });
      // A receiver may answer and stop reading.
      const isOver = (): boolean => isFlushed || head !== undefined || failure !== undefined;
      await until(isOver, startedAt + timeoutMs);
    },
    /** Ends our side, as a client does that only waits for the answer. */
    halfClose: () => connection?.halfClose(),
    reset(): void {
      failure ??= noAnswer("cut");
      if (connection?.isOpen() === true) connection.reset();
      close();
    },
    close,
    /** The next final answer, with its body as far as it arrives within `bodyMs` of the headers. */
    async answer({ timeoutMs: withinMs = timeoutMs, bodyMs = 250 } = {}): Promise<Outcome> {
      const dueAt = withinMs === timeoutMs ? startedAt + timeoutMs : performance.now() + withinMs;
      await until(() => head !== undefined || failure !== undefined, dueAt);
      if (head === undefined || kept === undefined) return failure ?? notWithin(withinMs, "answer");
      const isOver = (): boolean => isWhole || bodyBytes > MOST_BODY_BYTES || failure !== undefined;
      await until(isOver, performance.now() + bodyMs);
      const { status } = head;
      const judged = classifyStatus(status);
      if ("error" in judged) return noAnswer(judged.error, judged.detail);
      const headers = head.headers.map(([name, value]): [string, string] => [name, value]);
      const answer: Outcome = {
        kind: "answered",
        status,
        headers,
        body: kept.answer().body,
        complete: isWhole,
      };
      begin();
      return answer;
    },
  };
}

function noAnswer(error: AttemptError | "cut", detail = ""): NoAnswer {
  if (error === "cut") return { kind: "no_answer", error, message: CUT };
  const { words } = CAUSES[causeOf({ error }) ?? "connection_closed"];
  const isMore = detail !== "" && error !== "closed" && error !== "reset";
  const message = `${words}${isMore ? ` (${failureWords({ error, detail })})` : ""}.`;
  return { kind: "no_answer", error: error === "interrupted" ? "closed" : error, message };
}

function notWithin(timeoutMs: number, what: string): NoAnswer {
  return { kind: "no_answer", error: "timeout", message: `No ${what} within ${timeoutMs / 1_000} s.` };
}

const CUT = "The connection was cut on purpose before an answer.";

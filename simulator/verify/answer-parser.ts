/** A final answer to one request. */
export type Answer = {
  status: number;
  headers: [name: string, value: string][];
  /** What arrived of the body, at most 16 KiB. */
  body: Buffer;
  /** Whether the body ended as HTTP says that it must. */
  complete: boolean;
};

const BODY_KEPT_BYTES = 16 * 1_024;
/** No more than this is read of a body: the status line has said all that counts (SPEC §6 Delivery). */
const BODY_READ_BYTES = 1_024 * 1_024;
/** Of one answer's headers, and of a chunk's size line or a trailer. */
const HEAD_MAXIMUM_BYTES = 64 * 1_024;
/** Of all interim answers before the final one. */
const INTERIM_MAXIMUM_BYTES = 256 * 1_024;
const INTERIM_KEPT = 8;
/** Of what comes behind an answer before anybody has taken it. */
const AHEAD_MAXIMUM_BYTES = 1_024 * 1_024;

/** What is still to come of a body: bytes, chunks (the present one's rest first), or all up to the connection's end. */
type Rest =
  | { kind: "bytes"; left: number }
  | { kind: "chunks"; part: "size" | "data" | "line end" | "trailers"; left: number }
  | { kind: "until_end" };

/**
 * Reads HTTP/1.x answers from chunks of bytes, as strictly as a sender has to. What it keeps is
 * bounded as long as nothing is fed to it that comes after it says that it is sated.
 */
export function createAnswerParser() {
  let buffered: Buffer = Buffer.alloc(0);
  let current: Answer | undefined;
  let rest: Rest = { kind: "until_end" };
  let broken: string | undefined;
  /** Nothing more can be made of the body: it is malformed, or longer than anybody wants to read. */
  let isGivenUp = false;
  let bodyBytes = 0;
  let interimBytes = 0;
  const interim: number[] = [];

  function feed(chunk: Buffer): void {
    if (broken !== undefined || isGivenUp) return;
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    advance();
  }

  function advance(): void {
    if (current === undefined) readHead();
    if (current !== undefined && !current.complete) readBody(current);
  }

  function readHead(): void {
    while (broken === undefined && current === undefined) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end === -1) {
        const start = buffered.subarray(0, 5).toString("latin1");
        if (!"HTTP/".startsWith(start)) broken = "What came back is not HTTP.";
        else if (buffered.length > HEAD_MAXIMUM_BYTES) broken = "The answer's headers exceed 64 KiB.";
        return;
      }
      const [statusLine = "", ...lines] = buffered.subarray(0, end).toString("latin1").split("\r\n");
      buffered = buffered.subarray(end + 4);
      const status = Number(/^HTTP\/1\.[01] ([1-9]\d{2})(?: |$)/.exec(statusLine)?.[1]);
      const odd = lines.find((line) => !/^[^\s:]+[ \t]*:/.test(line));
      if (Number.isNaN(status)) {
        broken = `The answer has no valid status line: ${JSON.stringify(statusLine.slice(0, 80))}.`;
      } else if (end > HEAD_MAXIMUM_BYTES) {
        broken = "The answer's headers exceed 64 KiB.";
      } else if (status < 200) {
        interimBytes += end;
        if (interimBytes > INTERIM_MAXIMUM_BYTES) broken = "The receiver sent interim answers without end.";
        if (interim.length < INTERIM_KEPT) interim.push(status);
      } else if (odd !== undefined) {
        broken = `The answer has a malformed header: ${JSON.stringify(odd.slice(0, 80))}.`;
      } else {
        current = { status, headers: lines.map(headerOf), body: Buffer.alloc(0), complete: false };
        rest = framing(current);
        bodyBytes = 0;
      }
    }
  }

  function readBody(answer: Answer): void {
    if (rest.kind === "until_end") {
      consume(answer, buffered.length);
    } else if (rest.kind === "bytes") {
      rest.left -= consume(answer, rest.left);
      answer.complete = rest.left === 0;
    } else {
      readChunks(answer, rest);
    }
    if (bodyBytes > BODY_READ_BYTES) isGivenUp = true;
    if (isGivenUp) buffered = Buffer.alloc(0);
  }

  function readChunks(answer: Answer, chunks: Rest & { kind: "chunks" }): void {
    while (!answer.complete && !isGivenUp) {
      if (chunks.part === "data") {
        chunks.left -= consume(answer, chunks.left);
        if (chunks.left > 0) return;
        chunks.part = "line end";
      }
      const line = takeLine();
      if (line === undefined) return;
      if (chunks.part === "trailers") {
        answer.complete = line === "";
      } else if (chunks.part === "line end") {
        isGivenUp = line !== "";
        chunks.part = "size";
      } else {
        // Thirteen digits are exact as a number, and more than anybody could send.
        const digits = /^([0-9a-fA-F]{1,13})[ \t]*(?:;|$)/.exec(line)?.[1];
        isGivenUp = digits === undefined;
        chunks.left = Number.parseInt(digits ?? "0", 16);
        chunks.part = chunks.left === 0 ? "trailers" : "data";
      }
    }
  }

  /** The next line; none while it is not whole, or when it is too long to be one. */
  function takeLine(): string | undefined {
    const end = buffered.indexOf("\r\n");
    if (end === -1 || end > HEAD_MAXIMUM_BYTES) {
      isGivenUp = buffered.length > HEAD_MAXIMUM_BYTES;
      return undefined;
    }
    const line = buffered.subarray(0, end).toString("latin1");
    buffered = buffered.subarray(end + 2);
    return line;
  }

  /** Takes up to `most` bytes of the body and keeps the first of them; answers how many. */
  function consume(answer: Answer, most: number): number {
    const part = buffered.subarray(0, most);
    buffered = buffered.subarray(part.length);
    bodyBytes += part.length;
    const room = BODY_KEPT_BYTES - answer.body.length;
    if (room > 0) answer.body = Buffer.concat([answer.body, part.subarray(0, room)]);
    return part.length;
  }

  return {
    feed,
    /** Tells the parser that the connection has ended. */
    end(): void {
      if (current !== undefined && rest.kind === "until_end" && !isGivenUp) current.complete = true;
    },
    headersArrived: (): boolean => current !== undefined,
    /** Whether there is nothing more to wait for: the answer is complete, or its body is past help. */
    done: (): boolean => current?.complete === true || isGivenUp,
    /** Whether whatever else comes is of no use, so that nobody need read it. */
    isSated: (): boolean =>
      broken !== undefined ||
      isGivenUp ||
      (current?.complete === true && buffered.length > AHEAD_MAXIMUM_BYTES),
    broken: (): string | undefined => broken,
    interim: (): readonly number[] => interim,
    /** Hands over the present answer and starts on the next one of the connection. */
    take(): Answer {
      if (current === undefined) throw new Error("no answer has arrived");
      const answer = { ...current };
      current = undefined;
      if (buffered.length > 0) advance();
      return answer;
    },
  };
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).trimEnd(), line.slice(colon + 1).trim()];
}

function framing(answer: Answer): Rest {
  if (answer.status === 204 || answer.status === 304) return { kind: "bytes", left: 0 };
  const value = (name: string): string | undefined =>
    answer.headers.find(([header]) => header.toLowerCase() === name)?.[1];
  if (value("transfer-encoding")?.toLowerCase().endsWith("chunked") === true) {
    return { kind: "chunks", part: "size", left: 0 };
  }
  const length = value("content-length");
  if (length !== undefined && /^\d+$/.test(length)) return { kind: "bytes", left: Number(length) };
  return { kind: "until_end" };
}

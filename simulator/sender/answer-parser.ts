import { type AnswerHead, type Framing, parseHead } from "./answer-head.ts";

export type AnswerListener = {
  onInterim?: ((status: number) => void) | undefined;
  onHead(head: AnswerHead): void;
  onBody(bytes: Buffer): void;
  /** The answer is complete. `kept`: the other side keeps the connection, and sent nothing else on it. */
  onWhole(kept: boolean): void;
  /** These bytes are not HTTP/1.x; nothing after them is read. */
  onBroken(problem: string): void;
};

/** Maximum size of a head, the same as in Node.js. */
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_CHUNK_LINE_BYTES = 1024;
const HEAD_END = "\r\n\r\n";
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Thirteen digits are exact as a number, and enough for any body. */
const CHUNK_LINE = /^0*([0-9a-fA-F]{1,13})[ \t]*(?:;.*)?$/;

/** Reads the answer to one request from a connection's bytes. Skips 1xx, keeps no body, and at most 16 KiB of a head. */
export function createAnswerParser(listener: AnswerListener) {
  let phase: "head" | "body" | "over" = "head";
  let framing: Framing = { kind: "until_end" };
  let isKept = false;
  /** Bytes of the body, or of the chunk, that have not arrived yet. */
  let leftBytes = 0;
  let chunkPart: "size" | "data" | "data_end" | "trailers" = "size";
  /** The beginning of a head, or of a line between chunks, whose end has not arrived yet. */
  let partial: Buffer | undefined;

  function breakOff(problem: string): void {
    phase = "over";
    partial = undefined;
    listener.onBroken(problem);
  }

  function finish(restBytes: number): void {
    phase = "over";
    // Bytes beyond the answer: this connection must not be used again.
    listener.onWhole(isKept && restBytes === 0);
  }

  function readHeads(bytes: Buffer): void {
    const all = partial === undefined ? bytes : Buffer.concat([partial, bytes]);
    partial = undefined;
    let start = 0;
    while (phase === "head") {
      const end = all.indexOf(HEAD_END, start, "latin1");
      if (end === -1) return keepHead(all.subarray(start));
      if (end - start > MOST_HEAD_BYTES) return breakOff("the head is longer than 16 KiB");
      takeHead(all.toString("latin1", start, end));
      start = end + HEAD_END.length;
    }
    if (phase === "body") readBody(all.subarray(start));
  }

  /** Reports errors in an incomplete head at once. */
  function keepHead(bytes: Buffer): void {
    if (bytes.byteLength > MOST_HEAD_BYTES) return breakOff("the head is longer than 16 KiB");
    if (!"HTTP/".startsWith(bytes.toString("latin1", 0, Math.min(5, bytes.byteLength))))
      return breakOff("it does not begin with HTTP/");
    if (hasBareLineFeed(bytes)) return breakOff("a line of the head does not end with CR LF");
    if (bytes.byteLength > 0) partial = Buffer.from(bytes);
  }

  function takeHead(text: string): void {
    const parsed = parseHead(text);
    if (!parsed.ok) return breakOff(parsed.problem);
    const { status } = parsed.head;
    if (status === 101) return breakOff("101: an upgrade that was not requested");
    if (status >= 100 && status < 200) return listener.onInterim?.(status);
    framing = parsed.framing;
    isKept = parsed.kept;
    leftBytes = framing.kind === "length" ? framing.bytes : 0;
    phase = "body";
    listener.onHead(parsed.head);
  }

  function readBody(bytes: Buffer): void {
    if (framing.kind === "chunked") return readChunks(bytes);
    const own = framing.kind === "length" ? bytes.subarray(0, leftBytes) : bytes;
    if (own.byteLength > 0) listener.onBody(own);
    if (framing.kind === "until_end") return;
    leftBytes -= own.byteLength;
    if (leftBytes === 0) finish(bytes.byteLength - own.byteLength);
  }

  function readChunks(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.byteLength) {
      at = chunkPart === "data" ? readChunk(bytes, at) : readChunkLine(bytes, at);
      if (phase !== "body") return;
    }
  }

  function readChunk(bytes: Buffer, at: number): number {
    const own = bytes.subarray(at, at + leftBytes);
    listener.onBody(own);
    leftBytes -= own.byteLength;
    if (leftBytes === 0) chunkPart = "data_end";
    return at + own.byteLength;
  }

  function readChunkLine(bytes: Buffer, at: number): number {
    const lineFeed = bytes.indexOf(LINE_FEED, at);
    const next = lineFeed === -1 ? bytes.byteLength : lineFeed + 1;
    const piece = bytes.subarray(at, next);
    const line = partial === undefined ? piece : Buffer.concat([partial, piece]);
    partial = lineFeed === -1 ? Buffer.from(line) : undefined;
    if (line.byteLength > MOST_CHUNK_LINE_BYTES) breakOff("a line between chunks is longer than 1 KiB");
    else if (lineFeed !== -1) takeChunkLine(line, bytes.byteLength - next);
    return next;
  }

  function takeChunkLine(line: Buffer, restBytes: number): void {
    if (line.at(-2) !== CARRIAGE_RETURN) return breakOff("a line between chunks does not end with CR LF");
    const text = line.toString("latin1", 0, line.byteLength - 2);
    if (chunkPart === "trailers") {
      if (text === "") finish(restBytes);
    } else if (chunkPart === "data_end") {
      if (text !== "") return breakOff("a chunk is longer than it said");
      chunkPart = "size";
    } else {
      const [, hex] = CHUNK_LINE.exec(text) ?? [];
      if (hex === undefined) return breakOff("the length of a chunk is not a number");
      leftBytes = Number.parseInt(hex, 16);
      chunkPart = leftBytes === 0 ? "trailers" : "data";
    }
  }

  return {
    feed(bytes: Buffer): void {
      if (phase === "head") readHeads(bytes);
      else if (phase === "body") readBody(bytes);
    },
    /** The other side has ended the connection in order, which completes a body without a length. */
    end(): void {
      if (phase === "body" && framing.kind === "until_end") finish(0);
    },
    next(): void {
      phase = "head";
      chunkPart = "size";
      partial = undefined;
    },
  };
}

function hasBareLineFeed(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at - 1] !== CARRIAGE_RETURN) return true;
  }
  return false;
}

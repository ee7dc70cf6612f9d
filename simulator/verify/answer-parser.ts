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
const HEAD_MAXIMUM_BYTES = 64 * 1_024;

/** Reads HTTP/1.x answers from chunks of bytes, as strictly as a sender has to, and bounded in memory. */
export function createAnswerParser() {
  let buffered = Buffer.alloc(0);
  let current: Answer | undefined;
  /** What is still to come of the body: bytes, chunks, or everything up to the end of the connection. */
  let rest: { kind: "bytes"; left: number } | { kind: "chunks" } | { kind: "until_end" } = {
    kind: "until_end",
  };
  let broken: string | undefined;
  const interim: number[] = [];

  function feed(chunk: Buffer): void {
    buffered = Buffer.concat([buffered, chunk]);
    advance();
  }

  function advance(): void {
    if (broken !== undefined) return;
    if (current === undefined) readHead();
    if (current !== undefined && !current.complete) readBody(current);
  }

  function readHead(): void {
    for (;;) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end === -1) {
        const start = buffered.subarray(0, 5).toString("latin1");
        if (!"HTTP/".startsWith(start)) broken = "What came back is not HTTP.";
        else if (buffered.length > HEAD_MAXIMUM_BYTES) broken = "The answer's headers exceed 64 KiB.";
        return;
      }
      const [statusLine = "", ...lines] = buffered.subarray(0, end).toString("latin1").split("\r\n");
      const status = Number(/^HTTP\/1\.[01] ([1-9]\d{2})(?: |$)/.exec(statusLine)?.[1]);
      if (Number.isNaN(status)) {
        broken = `The answer has no valid status line: ${JSON.stringify(statusLine.slice(0, 80))}.`;
        return;
      }
      buffered = buffered.subarray(end + 4);
      if (status < 200) {
        interim.push(status);
        continue;
      }
      const headers = lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      });
      current = { status, headers, body: Buffer.alloc(0), complete: false };
      rest = framing(current);
      return;
    }
  }

  function readBody(answer: Answer): void {
    if (rest.kind === "bytes") {
      const part = buffered.subarray(0, rest.left);
      keep(answer, part);
      buffered = buffered.subarray(part.length);
      rest.left -= part.length;
      answer.complete = rest.left === 0;
    } else if (rest.kind === "chunks") {
      readChunks(answer);
    } else {
      keep(answer, buffered);
      buffered = Buffer.alloc(0);
    }
  }

  function readChunks(answer: Answer): void {
    for (;;) {
      const lineEnd = buffered.indexOf("\r\n");
      if (lineEnd === -1) return;
      const size = Number.parseInt(buffered.subarray(0, lineEnd).toString("latin1"), 16);
      if (Number.isNaN(size)) {
        broken = "The answer's chunked body is malformed.";
        return;
      }
      const next = lineEnd + 2 + size + 2;
      if (buffered.length < next) return;
      keep(answer, buffered.subarray(lineEnd + 2, lineEnd + 2 + size));
      buffered = buffered.subarray(next);
      if (size === 0) {
        answer.complete = true;
        return;
      }
    }
  }

  return {
    feed,
    /** Tells the parser that the connection has ended. */
    end(): void {
      if (current !== undefined && rest.kind === "until_end") current.complete = true;
    },
    headersArrived: (): boolean => current !== undefined,
    complete: (): boolean => current?.complete === true,
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

function framing(
  answer: Answer,
): { kind: "bytes"; left: number } | { kind: "chunks" } | { kind: "until_end" } {
  if (answer.status === 204 || answer.status === 304) return { kind: "bytes", left: 0 };
  const value = (name: string): string | undefined =>
    answer.headers.find(([header]) => header.toLowerCase() === name)?.[1];
  if (value("transfer-encoding")?.toLowerCase().endsWith("chunked") === true) return { kind: "chunks" };
  const length = value("content-length");
  if (length !== undefined && /^\d+$/.test(length)) return { kind: "bytes", left: Number(length) };
  return { kind: "until_end" };
}

function keep(answer: Answer, bytes: Buffer): void {
  const room = BODY_KEPT_BYTES - answer.body.length;
  if (room > 0) answer.body = Buffer.concat([answer.body, bytes.subarray(0, room)]);
}

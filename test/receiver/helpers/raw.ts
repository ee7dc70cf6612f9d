import { connect, type Socket } from "node:net";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { signatureFor } from "./events.ts";

export type RawAnswer = { status: number; headers: Map<string, string>; body: string; json: unknown };

/** A request as bytes, so that a test controls each byte. */
export function rawRequest(
  url: string,
  options: {
    method?: string;
    path?: string;
    version?: string;
    headers?: readonly (readonly [string, string])[];
    /** The signature header's values, each on its own line; by default the correct one. */
    signatures?: readonly string[];
    body?: Uint8Array;
    contentLength?: number | null;
  },
): Buffer {
  const { host, pathname } = new URL(url);
  const body = options.body ?? Buffer.alloc(0);
  const signatures = options.signatures ?? [signatureFor(body)];
  const length = options.contentLength === undefined ? body.byteLength : options.contentLength;
  const lines = [
    `${options.method ?? "POST"} ${options.path ?? pathname} HTTP/${options.version ?? "1.1"}`,
    `Host: ${host}`,
    ...(length === null ? [] : [`Content-Length: ${String(length)}`]),
    ...signatures.map((value) => `${SIGNATURE_HEADER}: ${value}`),
    ...(options.headers ?? []).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

/** A signed request whose body comes in chunks of so many bytes. */
export function chunkedRequest(
  url: string,
  body: Buffer,
  chunkBytes: number,
  headers: readonly (readonly [string, string])[] = [],
): Buffer {
  const head = rawRequest(url, {
    contentLength: null,
    headers: [...headers, ["Transfer-Encoding", "chunked"]],
    signatures: [signatureFor(body)],
  });
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n"));
  }
  return Buffer.concat([head, ...chunks, Buffer.from("0\r\n\r\n")]);
}

export function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname);
}

/** Whether a server listens there, by one connection. */
export async function knock(url: string): Promise<boolean> {
  const socket = open(url);
  return new Promise((resolve) => {
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.once("close", () => resolve(true));
      socket.end().resume();
    });
  });
}

/** Sends bytes on a new connection and returns the first answer. */
export async function sendRaw(url: string, bytes: Uint8Array): Promise<RawAnswer> {
  const socket = open(url);
  try {
    socket.write(bytes);
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

/** The next final answer on a connection; interim ones are left out. */
export async function readAnswer(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const take = (ended: boolean): void => {
      const answer = parseAnswer(received, ended);
      if (!answer) return;
      socket.off("data", onData);
      resolve(answer);
    };
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      take(false);
    };
    socket.on("data", onData);
    socket.once("end", () => {
      take(true);
      reject(new Error(`The connection ended without an answer: ${received.toString("latin1")}`));
    });
    socket.once("error", reject);
  });
}

function parseAnswer(bytes: Buffer, ended: boolean): RawAnswer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...headerLines] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  if (status >= 100 && status < 200) return parseAnswer(bytes.subarray(headEnd + 4), ended);
  const headers = new Map(
    headerLines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const length = Number(headers.get("content-length") ?? 0);
  const body = bytes.subarray(headEnd + 4);
  if (body.length < length && !ended) return undefined;
  const text = body.subarray(0, length).toString("utf8");
  return { status, headers, body: text, json: text === "" ? undefined : JSON.parse(text) };
}

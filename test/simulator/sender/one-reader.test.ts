import { request } from "node:http";
import { expect, test } from "vitest";
import { createLane } from "../../../simulator/load/lane.ts";
import { requestText } from "../../../simulator/sender/request-text.ts";
import { createTurns } from "../../../simulator/sender/turns.ts";
import { openWire, parseTarget } from "../../../simulator/verify/wire.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { sendTo, wordOf } from "./harness.ts";

const PATIENT_MS = 20_000;
const OK = "HTTP/1.1 200 OK\r\n";
const LENGTH = "Content-Length: 2\r\n";
const CHUNKED = "Transfer-Encoding: chunked\r\n";

/** The bytes of an answer whose head has `headers` and whose body is `body`. */
const answer = (headers: string, body = "", line = OK) => `${line}${headers}\r\n${body}`;
const ok = (header: string) => answer(`${header}\r\n${LENGTH}`, "ok");
const inChunks = (body: string) => answer(CHUNKED, body);

/** Answers on which two readers once disagreed, or might. */
const HEADS: Record<string, string> = {
  "a plain answer": answer(LENGTH, "ok"),
  "no headers": answer("", ""),
  "a body up to the end": answer("", "ok"),
  "two equal lengths": answer(LENGTH + LENGTH, "ok"),
  "two lengths": answer(`${LENGTH}Content-Length: 3\r\n`, "ok"),
  "a length and chunks": answer(LENGTH + CHUNKED, "2\r\nok\r\n0\r\n\r\n"),
  "chunks and a length": answer(CHUNKED + LENGTH, "2\r\nok\r\n0\r\n\r\n"),
  "a length with a plus": answer("Content-Length: +2\r\n", "ok"),
  "a length below zero": answer("Content-Length: -2\r\n", "ok"),
  "a list of lengths": answer("Content-Length: 2, 2\r\n", "ok"),
  "a length in hexadecimal": answer("Content-Length: 0x2\r\n", "ok"),
  "an empty length": answer("Content-Length:\r\n", "ok"),
  "a length with a fraction": answer("Content-Length: 2.0\r\n", "ok"),
  "a length of 10^30": answer(`Content-Length: ${"1".padEnd(31, "0")}\r\n`, "ok"),
  "a length with zeros before it": answer("Content-Length: 002\r\n", "ok"),
  "bare line feeds": answer(LENGTH, "ok").replaceAll("\r\n", "\n"),
  "a bare line feed behind the status line": answer(LENGTH, "ok").replace("\r\n", "\n"),
  "a bare line feed behind a header": `${OK}X: 1\n${LENGTH}\r\nok`,
  "a carriage return alone": `${OK}X: 1\r${LENGTH}\r\nok`,
  "a carriage return inside a value": ok("X: a\rb"),
  "bytes beyond ASCII in a value": ok("X: gr\u00fc\u00df"),
  "a space before the colon": ok("Server : x"),
  "a tab before the colon": ok("Server\t: x"),
  "an empty name": ok(": x"),
  "a header without a colon": ok("nonsense"),
  "an empty value": ok("X:"),
  "a folded header": ok("X: a\r\n b"),
  "a head of 15 KiB": ok(`X: ${"x".repeat(15 * 1024)}`),
  "a head of 17 KiB": ok(`X: ${"x".repeat(17 * 1024)}`),
  "many headers": ok(Array.from({ length: 90 }, (_, n) => `X-${n}: ${n}`).join("\r\n")),
  "an empty line before the status line": `\r\n${answer(LENGTH, "ok")}`,
  "something before the status line": `x${answer(LENGTH, "ok")}`,
  "coding identity": answer(`Transfer-Encoding: identity\r\n${LENGTH}`, "ok"),
  "coding gzip before chunked": answer("Transfer-Encoding: gzip, chunked\r\n", "2\r\nok\r\n0\r\n\r\n"),
  "coding chunked in capitals": answer("TRANSFER-ENCODING: CHUNKED\r\n", "2\r\nok\r\n0\r\n\r\n"),
  "a 204 with a length": answer(LENGTH, "", "HTTP/1.1 204 No Content\r\n"),
  "a 304 with a length": answer(LENGTH, "", "HTTP/1.1 304 Not Modified\r\n"),
};

const STATUS_LINES = [
  "HTTP/1.1 200 OK|HTTP/1.0 200 OK|HTTP/1.1 200|HTTP/1.1 200 |HTTP/1.1 200 \u00e9|HTTP/1.1 200 a\tb",
  "HTTP/1.1 200 a\0b|HTTP/1.1  200 OK|HTTP/1.1\t200 OK|HTTP/1.1 200OK|HTTP/1.1 20 OK|HTTP/1.1 2000 OK",
  "HTTP/1.1 -20 OK|HTTP/1.1 +20 OK|HTTP/1.1 2x0 OK|HTTP/1.1 OK 200|HTTP/1.1 999 Odd|HTTP/1.1 600 Odd",
  "HTTP/1.1 401 No|HTTP/1.1 302 Found|HTTP/1.1 500 Oops|HTTP/1.2 200 OK|HTTP/2.0 200 OK|HTTP/2 200 OK",
  "HTTP/0.9 200 OK|HTTP/1 200 OK|HTTP/11 200 OK|HTTP 200 OK|http/1.1 200 OK|Http/1.1 200 OK",
  "HTTPS/1.1 200 OK|HTTP/1.1|HTTP/1.1 | HTTP/1.1 200 OK|ICY 200 OK|SSH-2.0-OpenSSH_9.9|220 mail ready",
  "\u0016\u0003\u0001|{}|<html>",
].flatMap((lines) => lines.split("|"));

/** The headers decide; no verdict depends on these bodies. */
const BODIES = [
  "2\r\nok\r\n0\r\n\r\n|0\r\n\r\n|2;a=b\r\nok\r\n0\r\n\r\n|2\r\nok\r\n0\r\nX: 1\r\n\r\n",
  "02\r\nok\r\n0\r\n\r\n|zz\r\nok\r\n0\r\n\r\n|-1\r\nok\r\n0\r\n\r\n|0x2\r\nok\r\n0\r\n\r\n",
  "\r\nok\r\n0\r\n\r\n|2\nok\n0\n\n|3\r\nok\r\n0\r\n\r\n|1\r\nok\r\n0\r\n\r\n|2\r\nok",
  `${"f".repeat(40)}\r\nok`,
].flatMap((bodies) => bodies.split("|"));

const CHARACTERS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const OF_NAMES = CHARACTERS.filter((character) => !/[\r\n:]/.test(character));
const OF_VALUES = CHARACTERS.filter((character) => !/[\r\n]/.test(character));

const SEQUENCES = new Map<string, string>([
  ...Object.entries(HEADS),
  ...STATUS_LINES.map(
    (line) => [`the line ${JSON.stringify(line)}`, answer(LENGTH, "ok", `${line}\r\n`)] as const,
  ),
  ...BODIES.map((body) => [`the chunks ${JSON.stringify(body)}`, inChunks(body)] as const),
  ...OF_NAMES.map((one) => [`${JSON.stringify(one)} in a name`, ok(`X${one}Y: 1`)] as const),
  ...OF_VALUES.map((one) => [`${JSON.stringify(one)} in a value`, ok(`X: a${one}b`)] as const),
]);

/** Here we are stricter than node:http: no server sends these, and they are not HTTP/1.x (RFC 9112 §4). */
const STRICTER: Record<string, string> = {
  "an empty line before the status line": "refused",
  'the line "HTTP/0.9 200 OK"': "refused",
  'the line "HTTP/2.0 200 OK"': "refused",
  'the line "HTTP/1.1 200 a\\u0000b"': "refused",
};

test(
  "the sender, verify, load and the commands read answers as node:http does",
  { timeout: 600_000 },
  async () => {
    const bytes = [...SEQUENCES.values()];
    expect(bytes.length).toBeGreaterThan(136);
    const differences: Record<string, unknown> = {};
    const names = [...SEQUENCES.keys()];
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) {
          const text = SEQUENCES.get(name) ?? "";
          const { url } = await startRawServer((socket) => void socket.end(Buffer.from(text, "latin1")));
          const theirs = await byNodeHttp(url);
          const ours = {
            sender: refusedOr(await wordOf(sendTo(url))),
            verify: await byVerify(url),
            load: await byLoad(url),
            // A request for the whole text fails if the body is cut off.
            commands: name.startsWith("the chunks") ? (STRICTER[name] ?? theirs) : await byCommands(url),
          };
          const expected = STRICTER[name] ?? theirs;
          if (Object.values(ours).some((word) => word !== expected)) differences[name] = { theirs, ...ours };
        }
      }),
    );
    expect(differences).toEqual({});
  },
);

function refusedOr(word: string | number): string | number {
  return typeof word === "number" ? word : "refused";
}

function byNodeHttp(url: string): Promise<string | number> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", agent: false }, (answered) => {
      resolve(answered.statusCode ?? 0);
      answered.on("error", () => {}).resume();
    });
    sent.on("error", () => resolve("refused")).end("{}");
  });
}

async function byVerify(url: string): Promise<string | number> {
  const target = parseTarget(url);
  const wire = await openWire(target, PATIENT_MS);
  await wire.write(Buffer.from(`POST / HTTP/1.1\r\nHost: ${target.host}\r\nContent-Length: 2\r\n\r\n{}`));
  const outcome = await wire.answer();
  wire.close();
  return outcome.kind === "answered" ? outcome.status : "refused";
}

function byCommands(url: string): Promise<string | number> {
  const asked = { method: "POST", headers: {}, signal: AbortSignal.timeout(PATIENT_MS), mostBytes: 1024 };
  return requestText(new URL(url), asked).then(
    ({ status }) => status,
    () => "refused",
  );
}

function byLoad(url: string): Promise<string | number> {
  const own = { turns: createTurns(), timeoutMs: PATIENT_MS, nowMs: () => performance.now() };
  const lane = createLane({ url: new URL(url), allowedHosts: [], ...own });
  const bytes = Buffer.from("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  return new Promise((resolve) =>
    lane.send(bytes, (ending) => {
      lane.close();
      resolve(refusedOr(ending));
    }),
  );
}

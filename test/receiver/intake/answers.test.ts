import { describe, expect, test } from "vitest";
import { chunkedRequest, rawRequest, sendRaw, type RawAnswer } from "../helpers/raw.ts";
import { SECRET, idOf, newBody, newEventId, signatureFor } from "../helpers/events.ts";
import { startTestReceiver, useReceiver } from "../helpers/receiver.ts";

/** The receiver's answers, each over a separate raw socket: no client library hides a detail. */

const STORED = { received: true, duplicate: false };
const DUPLICATE = { received: true, duplicate: true };
const DIGEST = "0".repeat(64);

function expectError(answer: RawAnswer, status: number, error: string): void {
  const json: unknown = { error, message: expect.any(String) };
  expect({ status: answer.status, json: answer.json }).toEqual({ status, json });
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
}

const receiver = useReceiver();

/** The answer to a request of these parts. */
const send = async (parts: Parameters<typeof rawRequest>[1], { url } = receiver()): Promise<RawAnswer> =>
  sendRaw(url, rawRequest(url, parts));

function expectStored(answer: RawAnswer): void {
  expect({ status: answer.status, json: answer.json }).toEqual({ status: 200, json: STORED });
}

describe("a correctly signed event", () => {
  test("is stored once, and recognised every time after that", async () => {
    const body = newBody();
    expectStored(await send({ body }));
    const again = await send({ body });
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: DUPLICATE });
    expect(await receiver().store.ledger.find(idOf(body))).toMatchObject({ state: "waiting", duplicates: 1 });
  });

  test("is new for exactly one of many simultaneous requests", async () => {
    const body = newBody();
    const answers = await Promise.all(Array.from({ length: 40 }, async () => send({ body })));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.filter(({ json }) => !(json as typeof STORED).duplicate)).toHaveLength(1);
    expect(await receiver().store.ledger.find(idOf(body))).toMatchObject({ duplicates: 39 });
  });

  test.for([
    ["no content type", []],
    ["a form's content type", [["Content-Type", "application/x-www-form-urlencoded"]]],
    ["a content type that is none", [["Content-Type", "{}"]]],
    ["a text in another charset", [["Content-Type", "text/plain; charset=utf-16"]]],
    ["Content-Encoding: identity", [["Content-Encoding", "identity"]]],
    ["an empty Content-Encoding", [["Content-Encoding", ""]]],
    ["Expect: 100-continue", [["Expect", "100-continue"]]],
  ] as const)("is stored with %s", async ([, headers]) => {
    expectStored(await send({ body: newBody(), headers }));
  });

  test("is stored when it comes in chunks", async () => {
    const { url } = receiver();
    expectStored(await sendRaw(url, chunkedRequest(url, newBody(), 100)));
  });

  test("is stored over HTTP/1.0, and with a query after the path", async () => {
    expectStored(await send({ body: newBody(), version: "1.0" }));
    expectStored(await send({ body: newBody(), path: "/webhooks?from=test" }));
  });

  test.for([
    ["an unknown type", { type: "call.pondered" }],
    ["unknown fields", { surprise: { nested: [1, 2] } }],
    ["an object without its fields", { data: { object: { object: "call" } } }],
    ["an object with odd fields", { data: { object: { object: "call", id: 7, phone: null } } }],
    ["no data at all", { data: undefined }],
    ["another api_version", { api_version: "v2" }],
    ["an id in capitals", { id: newEventId().toUpperCase().replace("EVT", "evt") }],
  ] as const)("is stored with %s", async ([, overrides]) => {
    expectStored(await send({ body: newBody("call.completed", overrides) }));
  });

  test("is stored at the very limits of depth, values and size", async () => {
    const { config } = receiver();
    const nested = "[".repeat(63) + "]".repeat(63);
    const deepest = Buffer.from(`{"id":"${newEventId()}","type":"t","deep":${nested}}`);
    expectStored(await send({ body: deepest }));
    const fullest = Buffer.from(`{"id":"${newEventId()}","type":"t","many":[${"0,".repeat(9_995)}0]}`);
    expectStored(await send({ body: fullest }));
    expectStored(await send({ body: bodyOfSize(config.maxBodyBytes) }));
  });
});

describe("the signature", () => {
  /** Grammar and tolerance have their own tests: these are samples of each. */
  test.for<[string, (valid: string, body: Buffer) => string[]]>([
    ["is missing", () => []],
    ["is empty", () => [""]],
    ["comes twice", (valid) => [valid, valid]],
    ["has no t", (valid) => [valid.replace(/^t=\d+,/, "")]],
    ["has nine v1", (valid) => [valid + `,v1=${DIGEST}`.repeat(8)]],
    ["is longer than 1,024 characters", (valid) => [`${valid},x=${"y".repeat(1_024)}`]],
    ["is of another secret", (_valid, body) => [signatureFor(body, { secret: "other" })]],
  ])("that %s is refused", async ([, change]) => {
    const body = newBody();
    const signatures = change(signatureFor(body), body);
    expectError(await send({ body, signatures }), 401, "invalid_signature");
    expect(await receiver().store.ledger.find(idOf(body))).toBeUndefined();
  });

  test("of any active secret is accepted while rotating, of a retired one not", async () => {
    const own = await startTestReceiver({ environment: { SIGNING_SECRET: "new-one,old-one" } });
    for (const [secret, status] of [
      ["new-one", 200],
      ["old-one", 200],
      [SECRET, 401],
    ] as const) {
      const body = newBody();
      const answer = await send({ body, signatures: [signatureFor(body, { secret })] }, own);
      expect(answer.status).toBe(status);
    }
  });
});

describe("a signed body", () => {
  test.for<[string, Uint8Array]>([
    ["that is empty", Buffer.alloc(0)],
    ["with a byte order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), newBody()])],
    [
      "that is not UTF-8",
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    ],
    ["that is not JSON", Buffer.from("id=1&type=2")],
    ["that ends within a text", Buffer.from('{"id":"evt_')],
    ["that is cut short", newBody().subarray(0, -1)],
  ])("%s is invalid JSON", async ([, body]) => {
    expectError(await send({ body }), 400, "invalid_json");
  });

  test.for<[string, string]>([
    ["a list", "[]"],
    ["a string", '"evt"'],
    ["null", "null"],
    ["without id", '{"type":"call.completed"}'],
    ["with an id of 31 characters", `{"id":"evt_${"a".repeat(31)}","type":"t"}`],
    ["with an id that has more behind it", `{"id":"${newEventId()}\\n","type":"t"}`],
    ["with an id that is no hex", `{"id":"evt_${"g".repeat(32)}","type":"t"}`],
    ["with an id that is a number", '{"id":7,"type":"t"}'],
    ["without type", `{"id":"${newEventId()}"}`],
    ["with a type that is no string", `{"id":"${newEventId()}","type":null}`],
    ["nested 65 deep", `{"id":"${newEventId()}","type":"t","deep":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["of one value too many", `{"id":"${newEventId()}","type":"t","many":[${"0,".repeat(9_996)}0]}`],
    [
      "of 90,000 keys",
      JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [at, 0]))),
    ],
    [
      "nested 200,000 deep",
      `{"id":"${newEventId()}","type":"t","deep":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
    ],
  ])("that is JSON, but %s, is not an event", async ([, body]) => {
    expectError(await send({ body: Buffer.from(body) }), 400, "invalid_event");
  });

  test("one byte over the limit is too large, announced or in chunks", async () => {
    const own = await startTestReceiver({ environment: { MAX_BODY_BYTES: "4096" } });
    const body = bodyOfSize(own.config.maxBodyBytes + 1);
    expectError(await send({ body }, own), 413, "body_too_large");
    expectError(await sendRaw(own.url, chunkedRequest(own.url, body, 1_000)), 413, "body_too_large");
  });

  test.for(["gzip", "deflate", "br", "zstd", "x-unknown"])(
    "in Content-Encoding %s is refused unread",
    async (encoding) => {
      const headers = [["Content-Encoding", encoding]] as const;
      expectError(await send({ body: newBody(), headers }), 415, "unsupported_encoding");
    },
  );
});

describe("another request", () => {
  test.for(["/", "/webhooks/", "/Webhooks", "/webhooks/x", "/%ff", "//webhooks"])(
    "to %s is not found",
    async (path) => {
      expectError(await send({ path, body: newBody() }), 404, "not_found");
    },
  );

  test("that is not HTTP still gets JSON", async () => {
    const answer = await sendRaw(receiver().url, Buffer.from("\u0016\u0003\u0001\u0002\r\n\r\n"));
    expectError(answer, 400, "bad_request");
    const headers = [["X-Padding", "x".repeat(20_000)]] as const;
    expectError(await send({ headers }), 431, "headers_too_large");
  });

  test.for([
    ["reading", "GET", "/webhooks", 405, "POST"],
    ["putting", "PUT", "/webhooks", 405, "POST"],
    ["the checks", "POST", "/healthz", 405, "GET, HEAD"],
    ["a proxy's way", "CONNECT", "receiver:443", 405, "POST"],
    ["a method of its own", "DELIVER", "/webhooks", 405, "POST"],
    ["a method that Node.js knows", "PROPFIND", "/webhooks", 405, "POST"],
  ] as const)("by %s gets the allowed methods", async ([, method, path, status, allow]) => {
    const answer = await send({ method, path });
    expectError(answer, status, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe(allow);
  });

  test("that names the whole address finds the path in it", async () => {
    expectStored(await send({ path: `${receiver().url}?from=proxy`, body: newBody() }));
    expectError(await send({ path: "http://x", body: newBody() }), 404, "not_found");
  });

  test("finds the health checks", async () => {
    expect((await send({ method: "GET", path: "/healthz" })).status).toBe(200);
    expect((await send({ method: "GET", path: "/readyz" })).json).toMatchObject({ status: "ready" });
  });
});

describe("when nothing can be stored", () => {
  test.for(["busy", "full", "read_only", "io_error", "connection_lost", "outcome_unknown"] as const)(
    "because the database is %s, the answer is 503, and the receiver is not ready",
    async (reason) => {
      const fails = async () => ({ ok: false, reason, detail: "made up" }) as const;
      const own = await startTestReceiver({
        wrapStore: (store) => ({ ...store, intake: { ...store.intake, accept: fails, probe: fails } }),
      });
      const body = newBody();
      const answer = await send({ body }, own);
      expectError(answer, 503, "unavailable");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await own.store.ledger.find(idOf(body))).toBeUndefined();
      expect((await send({ method: "GET", path: "/readyz" }, own)).status).toBe(503);
    },
  );
});

/** A valid event of exactly `bytes` bytes. */
function bodyOfSize(bytes: number): Buffer {
  const empty = newBody("call.completed", { padding: "" });
  return newBody("call.completed", { id: idOf(empty), padding: "x".repeat(bytes - empty.length) });
}

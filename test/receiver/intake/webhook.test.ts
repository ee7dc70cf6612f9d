import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type { Trace } from "../../../receiver/store/port.ts";
import { ANSWERS, type Answer } from "../../../receiver/intake/answers.ts";
import type { Body } from "../../../receiver/intake/body.ts";
import type { Delivery, Receipt } from "../../../receiver/intake/inbox.ts";
import { createWebhook, type WebhookRequest } from "../../../receiver/intake/webhook.ts";
import { createHealth } from "../../../receiver/operations/health.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { createMetrics } from "../../../receiver/operations/metrics.ts";
import { createRequestLog } from "../../../receiver/operations/request-log.ts";
import { handClock } from "../helpers/intake.ts";

/** The way of one request to its answer, without the network before it and the database behind it. */

const STORED: Receipt = { kind: "stored", id: "evt_1", type: "call.completed", secretIndex: 0 };

async function ask(
  changes: Partial<WebhookRequest> = {},
  world: { receipt?: () => Receipt; isDraining?: boolean; freeBytes?: number; clock?: Clock } = {},
) {
  const { clock = systemClock } = world;
  const deliveries: Delivery[] = [];
  const traces: (Trace | null)[] = [];
  const tookSeconds: number[] = [];
  const refused: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const health = createHealth({
    probe: async () => ({ ok: true }),
    clock: systemClock,
    freeBytes: async () => world.freeBytes ?? 2 ** 30,
    minimumFreeBytes: 2 ** 30,
    role: "ingest",
  });
  // It has looked at the disk by then.
  await new Promise(setImmediate);
  if (world.isDraining === true) health.startDraining();
  const webhook = createWebhook({
    inbox: async (delivery) => {
      deliveries.push(delivery);
      traces.push(delivery.trace);
      return (world.receipt ?? (() => STORED))();
    },
    maxBodyBytes: 10,
    health,
    log,
    logRequest: createRequestLog({ log, clock: systemClock, clean: (text) => text }),
    metrics: {
      ...createMetrics({ counts: async () => undefined, clock: systemClock }),
      received: (_receipt, seconds) => void tookSeconds.push(seconds),
      refused: (reason) => void refused.push(reason),
    },
    clock,
  });
  const answers: Answer[] = [];
  await webhook(
    {
      method: "POST",
      path: "/webhooks",
      id: undefined,
      signatures: [],
      traceparent: undefined,
      encoding: undefined,
      announcedBytes: undefined,
      readBody: async () => ({ ok: true, bytes: new Uint8Array(1) }),
      ...changes,
    },
    (answer) => void answers.push(answer),
  );
  health.stop();
  expect(answers).toHaveLength(1);
  return { answer: answers[0], deliveries, traces, lines, tookSeconds, refused };
}

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test.each<[string | null | undefined, string | undefined, Trace | null]>([
  [undefined, undefined, null],
  [null, undefined, null],
  ["no trace", undefined, null],
  [TRACE.toUpperCase(), undefined, null],
  [`${TRACE}-more`, undefined, null],
  [TRACE, undefined, { traceparent: TRACE }],
  [TRACE, "Request 1", { traceparent: TRACE, requestId: "Request 1" }],
  [undefined, "Request 1", { requestId: "Request 1" }],
  ["no trace", "Request 1", { requestId: "Request 1" }],
])("of the trace %o and the id %o is kept %o", async (traceparent, id, expected) => {
  expect((await ask({ traceparent, id })).traces).toEqual([expected]);
});

test.each<
  [string, Partial<WebhookRequest>, Parameters<typeof ask>[1], keyof typeof ANSWERS, string | undefined]
>([
  ["another method", { method: "GET" }, {}, "method", undefined],
  ["another method, while it drains", { method: "PUT" }, { isDraining: true }, "method", undefined],
  ["a drain", {}, { isDraining: true }, "unavailable", "draining"],
  ["a disk that is low", {}, { freeBytes: 99 }, "unavailable", "disk_low"],
  ["an encoding", { encoding: "gzip" }, {}, "encoded", "encoding.unsupported"],
  ["several encodings", { encoding: "identity, gzip" }, {}, "encoded", "encoding.unsupported"],
  ["one byte too much that is announced", { announcedBytes: 11 }, {}, "too_large", "entity.too.large"],
])("%s is refused before its body is read", async (_what, changes, world, answer, reason) => {
  const readBody = async (): Promise<Body> => Promise.reject(new Error("it was read"));
  const asked = await ask({ ...changes, readBody }, world);
  expect(asked.answer).toBe(ANSWERS[answer]);
  expect(asked.traces).toEqual([]);
  expect(asked.lines.at(-1)).toMatchObject({ status: ANSWERS[answer].status });
  expect(asked.lines.at(-1)?.["reason"]).toBe(reason);
});

/** What is wrong with a request, in the order in which it is told, and the reason that is counted. */
const WRONGS: [
  Partial<WebhookRequest>,
  Parameters<typeof ask>[1],
  keyof typeof ANSWERS,
  string | undefined,
][] = [
  [{ method: "HEAD" }, {}, "method", undefined],
  [{}, { isDraining: true }, "unavailable", "draining"],
  [{}, { freeBytes: 99 }, "unavailable", "disk_low"],
  [{ encoding: "br" }, {}, "encoded", "encoding.unsupported"],
  [{ announcedBytes: 11 }, {}, "too_large", "entity.too.large"],
];

test("of several things that are wrong the first is told, and counted once", async () => {
  for (let choice = 1; choice < 2 ** WRONGS.length; choice += 1) {
    const wrong = WRONGS.filter((_, at) => (choice >> at) % 2 === 1);
    const request = Object.assign({}, ...wrong.map(([changes]) => changes)) as Partial<WebhookRequest>;
    const world = Object.assign({}, ...wrong.map(([, where]) => where)) as Parameters<typeof ask>[1];
    const { answer, deliveries, tookSeconds, refused, lines } = await ask(request, world);
    const [, , expected, reason] = wrong[0]!;
    expect({ choice, answer, deliveries, tookSeconds, refused }).toEqual({
      choice,
      answer: ANSWERS[expected],
      deliveries: [],
      tookSeconds: [],
      refused: reason === undefined ? [] : [reason],
    });
    expect(lines).toHaveLength(1);
  }
});

test("what is read of a request is handed on as it is, and the line says whose it was", async () => {
  const bytes = Uint8Array.of(7, 8, 9);
  const { deliveries, lines, refused } = await ask({
    path: "/hooks/of/mine",
    id: "Request 1",
    signatures: ["t=1", "t=2"],
    announcedBytes: 3,
    readBody: async () => ({ ok: true, bytes }),
  });
  expect(deliveries).toEqual([
    { signatures: ["t=1", "t=2"], body: bytes, trace: { requestId: "Request 1" } },
  ]);
  expect(lines).toEqual([
    expect.objectContaining({ method: "POST", path: "/hooks/of/mine", request_id: "Request 1", status: 200 }),
  ]);
  expect(refused).toEqual([]);
});

test.each(["identity", "Identity", "IDENTITY", null, undefined])(
  "the encoding %o is none",
  async (encoding) => {
    expect((await ask({ encoding, announcedBytes: 10 })).answer).toBe(ANSWERS.stored);
  },
);

test.each<[Extract<Body, { ok: false }>["problem"], keyof typeof ANSWERS, string]>([
  ["too_large", "too_large", "entity.too.large"],
  ["incomplete", "incomplete", "request.aborted"],
  ["overloaded", "unavailable", "overloaded"],
  ["already_read", "failed", "body_already_read"],
])("a body that is %s is answered and told of as such", async (problem, answer, reason) => {
  const asked = await ask({ readBody: async () => ({ ok: false, problem }) });
  expect(asked.answer).toBe(ANSWERS[answer]);
  expect(asked.lines.at(-1)).toMatchObject({ result: "refused", reason });
  const hints = asked.lines.filter(({ msg }) => String(msg).includes("Move the line of the body parser"));
  expect(hints).toHaveLength(problem === "already_read" ? 1 : 0);
});

test.each<Receipt>([
  STORED,
  { ...STORED, kind: "duplicate" },
  { kind: "invalid_signature", reason: "no_match" },
  { kind: "invalid_json", message: "" },
  { kind: "invalid_event", message: "" },
  { kind: "unavailable", reason: "full", detail: "" },
])("a receipt $kind has the answer of its name", async (receipt) => {
  expect((await ask({}, { receipt: () => receipt })).answer).toBe(ANSWERS[receipt.kind]);
});

test("an acknowledgement takes as many seconds as went by from the request to its answer", async () => {
  const clock = handClock();
  const receipt = (): Receipt => {
    clock.pass(250);
    return STORED;
  };
  // The time in which the sender sends is the sender's; the line has all of it.
  const readBody = async (): Promise<Body> => {
    clock.pass(4_000);
    return { ok: true, bytes: new Uint8Array(1) };
  };
  const { tookSeconds, lines } = await ask({ readBody }, { receipt, clock });
  expect(tookSeconds).toEqual([0.25]);
  expect(lines.at(-1)).toMatchObject({ duration_ms: 4_250 });
});

test("a bug is a 500, with a line that says what it was", async () => {
  const bug = (): never => {
    throw new Error("it is broken");
  };
  const { answer, lines } = await ask({}, { receipt: bug });
  expect(answer).toBe(ANSWERS.failed);
  expect(lines[0]).toMatchObject({ level: "error", err: { message: "it is broken" } });
  expect(lines[1]).toMatchObject({ level: "error", status: 500, reason: "bug" });
});

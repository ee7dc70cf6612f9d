import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { ANSWERS, type Answer } from "../../../receiver/intake/webhook.ts";
import type { Body } from "../../../receiver/intake/body.ts";
import type { Delivery, Receipt } from "../../../receiver/intake/inbox.ts";
import { createWebhook, type WebhookRequest } from "../../../receiver/intake/webhook.ts";
import { createRequestLog } from "../../../receiver/operations/log.ts";
import { standingClock } from "../helpers/clock.ts";
import { recordedLog } from "../helpers/log.ts";

/** One request and its answer, without network and database. */

const STORED: Receipt = { kind: "stored", id: "evt_1", type: "call.completed", secretIndex: 0 };

type Changes = Partial<WebhookRequest> & { headers?: Record<string, string | null> };

async function ask(
  changes: Changes = {},
  world: {
    receipt?: () => Receipt;
    isDraining?: boolean;
    isDiskLow?: boolean;
    clock?: Clock;
    isGone?: boolean;
  } = {},
) {
  const { clock = systemClock, receipt = () => STORED, isDraining = false, isDiskLow = false } = world;
  const deliveries: Delivery[] = [];
  const tookSeconds: number[] = [];
  const refused: string[] = [];
  const answers: Answer[] = [];
  const { log, lines } = recordedLog();
  const webhook = createWebhook({
    inbox: async (delivery) => {
      deliveries.push(delivery);
      return receipt();
    },
    maxBodyBytes: 10,
    health: { draining: () => isDraining, diskLow: () => isDiskLow },
    log,
    logRequest: createRequestLog({ log, clock: systemClock, clean: (text) => text }),
    metrics: {
      received: (_receipt, seconds) => void tookSeconds.push(seconds),
      refused: (reason) => void refused.push(reason),
    },
    clock,
  });
  const request: WebhookRequest = {
    method: "POST",
    path: "/webhooks",
    id: undefined,
    signatures: [],
    header: (name) => changes.headers?.[name],
    framework: "node",
    readBody: async () => ({ ok: true, bytes: new Uint8Array(1) }),
  };
  await webhook({ ...request, ...changes }, (answer) => {
    answers.push(answer);
    if (world.isGone === true) throw new Error("the client is gone");
  });
  expect(answers).toHaveLength(1);
  return { answer: answers[0], deliveries, lines, tookSeconds, refused };
}

/** The errors of a request in the order in which they are checked, with the counted reasons. */
const WRONGS: [Changes, Parameters<typeof ask>[1], keyof typeof ANSWERS, string | undefined][] = [
  [{ method: "HEAD" }, {}, "method", undefined],
  [{}, { isDraining: true }, "unavailable", "draining"],
  [{}, { isDiskLow: true }, "unavailable", "disk_low"],
  [{ headers: { "content-encoding": "identity, br" } }, {}, "encoded", "encoded"],
  [{ headers: { "content-length": "11" } }, {}, "too_large", "too_large"],
];

test("of several errors the first is refused, before the body is read, and counted once", async () => {
  const readBody = async (): Promise<Body> => Promise.reject(new Error("it was read"));
  for (let choice = 1; choice < 2 ** WRONGS.length; choice += 1) {
    const wrong = WRONGS.filter((_, at) => (choice >> at) % 2 === 1);
    const headers = Object.assign({}, ...wrong.map(([changes]) => changes.headers)) as Changes["headers"];
    const request = Object.assign({}, ...wrong.map(([changes]) => changes), { readBody, headers }) as Changes;
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

test("the fields of a request are passed on unchanged, and the log line names them", async () => {
  const bytes = Uint8Array.of(7, 8, 9);
  const { deliveries, lines, refused } = await ask({
    path: "/hooks/of/mine",
    id: "Request 1",
    signatures: ["t=1", "t=2"],
    readBody: async () => ({ ok: true, bytes }),
  });
  expect(deliveries).toEqual([{ signatures: ["t=1", "t=2"], body: bytes }]);
  expect(lines).toEqual([
    expect.objectContaining({ method: "POST", path: "/hooks/of/mine", request_id: "Request 1", status: 200 }),
  ]);
  expect(refused).toEqual([]);
});

const PROBLEMS = ["too_large", "in_pieces", "incomplete", "late", "overloaded", "no_bytes"] as const;

test.each(PROBLEMS)("a body that is %s gets the answer and the reason for it", async (problem) => {
  const asked = await ask({ readBody: async () => ({ ok: false, problem }) });
  expect(asked.answer).toBe(ANSWERS[problem]);
  expect(asked.lines.at(-1)).toMatchObject({ result: "refused", reason: problem });
});

test.each([
  ["express", "app.use(express.json())"],
  ["next", "bodyParser: false"],
  ["fetch", "request.json()"],
  ["node", "In Fastify"],
] as const)(
  "in %s a body without bytes is logged with what to change there: %s",
  async (framework, words) => {
    const asked = await ask({ framework, readBody: async () => ({ ok: false, problem: "no_bytes" }) });
    expect(asked.lines[0]).toMatchObject({ level: "error", msg: expect.stringContaining(words) });
  },
);

test("an answer that cannot be sent is logged, and later requests work", async () => {
  const { lines } = await ask({}, { isGone: true });
  expect(lines).toMatchObject([{ level: "error", err: { message: "the client is gone" } }, { status: 200 }]);
});

test("the time of an acknowledgement is measured from the end of the request to its answer", async () => {
  const clock = standingClock();
  const receipt = (): Receipt => {
    void clock.pass(250);
    return STORED;
  };
  // The metric leaves out the time in which the sender sends; the log line has the whole time.
  const readBody = async (): Promise<Body> => {
    void clock.pass(4_000);
    return { ok: true, bytes: new Uint8Array(1) };
  };
  const { tookSeconds, lines } = await ask({ readBody }, { receipt, clock });
  expect(tookSeconds).toEqual([0.25]);
  expect(lines.at(-1)).toMatchObject({ duration_ms: 4_250 });
});

test("a bug is a 500, with a log line that names it", async () => {
  const bug = (): never => {
    throw new Error("it is broken");
  };
  const { answer, lines } = await ask({}, { receipt: bug });
  expect(answer).toBe(ANSWERS.failed);
  expect(lines[0]).toMatchObject({ level: "error", err: { message: "it is broken" } });
  expect(lines[1]).toMatchObject({ level: "error", status: 500, reason: "bug" });
});

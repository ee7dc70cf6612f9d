import { setTimeout as sleep } from "node:timers/promises";
import type { Check, Runs, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import type { Deliverable } from "../delivery.ts";
import { attemptsAfter, CUT_SHORT, taken } from "../attempts.ts";
import { accepted, allAcknowledged, allRefused, every } from "../judgement.ts";

const NO_JSON = ["not json", '{"id":', "", "\ufeff{}"].map((text) => Buffer.from(text));
const NO_EVENT = [
  "[]",
  "null",
  '"event"',
  "{}",
  '{"id":5,"type":null,"data":null}',
  '{"id":"evt_1","type":{"a":1},"data":{"object":null}}',
].map((text) => Buffer.from(text));
const DEEP = Buffer.from(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
const NO_UTF8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0xc3, 0x28, 0x7d]);
const NO_HTTP = [
  Buffer.from("\0\u0001\u0002 rubbish \r\n\r\n"),
  Buffer.from("160301020001000001fc0303", "hex"),
  Buffer.from("POST\r\n\r\n"),
  Buffer.from("POST / HTTP/1.1\r\nContent-Length: -5\r\nContent-Length: 7\r\n\r\n"),
  Buffer.alloc(20_000, 0x41),
];

/**
 * Whether the receiver keeps answering after what a broken network or a stranger may send. Each of these ends with an
 * ordinary delivery, which must be acknowledged.
 */
export const wireFaultRuns: Runs = {
  "wire.reset-mid-body": survived(async ({ deliver, event }) => void (await deliver(event(), CUT_SHORT))),
  "wire.reset-mid-head": survived(async ({ open, compose, event }) => {
    const wire = await open();
    await wire.write(compose(event()).head.subarray(0, 60));
    wire.reset();
  }),
  "wire.body-ends-early": survived(async ({ deliver, event }) => {
    await deliver(event(), {
      forged: true,
      timeoutMs: 1_000,
      manner: {
        note: "The client ended its side before the last ten bytes of the body.",
        send: async (wire, { head, framedBody }) => {
          await wire.write(Buffer.concat([head, framedBody.subarray(0, -10)]));
          wire.halfClose();
        },
      },
    });
  }),
  "wire.half-close": {
    // Whether an answer still reaches such a client differs among HTTP servers; the retry has to be taken in any case.
    run: survived(async (context) =>
      taken(
        await attemptsAfter(context, context.event(), {
          timeoutMs: 1_000,
          manner: {
            note: "The client ended its side of the connection right after the request.",
            send: async (wire, { head, framedBody }) => {
              await wire.write(Buffer.concat([head, framedBody]));
              wire.halfClose();
            },
          },
        }),
      ),
    ),
  },
  "wire.not-http": survived(async ({ open }) => {
    for (const rubbish of NO_HTTP) {
      const wire = await open();
      await wire.write(rubbish);
      wire.halfClose();
      await wire.answer({ timeoutMs: 200 });
      wire.close();
    }
  }),
  "wire.large-head": survived(async ({ deliver, event }) => {
    await deliver(event(), { forged: true, headers: [["X-Large", "0".repeat(200_000)]], timeoutMs: 2_000 });
  }),
  "wire.large-forgery": survived(async ({ deliver, event }) => {
    const body = Buffer.alloc(2_000_000, JSON.stringify(event()));
    return allRefused([await deliver(body, { secret: "not-the-secret", forged: true })]);
  }),
  "wire.forged-rubbish": survived(async ({ deliver }) => {
    const forged = [...NO_JSON, ...NO_EVENT, DEEP, NO_UTF8].map((body) =>
      deliver(body, { secret: "not-the-secret", forged: true }),
    );
    return allRefused(await Promise.all(forged));
  }),
  "wire.no-json": signedOddities(NO_JSON),
  "wire.no-object": signedOddities(NO_EVENT),
  "wire.deep-nesting": signedOddities([DEEP]),
  "wire.invalid-utf8": signedOddities([NO_UTF8]),
  "wire.odd-requests": survived(async ({ target: { path, host }, open }) => {
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"]) {
      const wire = await open();
      await wire.write(
        Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      );
      await wire.answer({ timeoutMs: 500 });
      wire.close();
    }
  }),
  "wire.stalled-clients": async ({ deliver, event, open, compose, timing }) => {
    const stalled = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const wire = await open();
        const { head, framedBody } = compose(event());
        // Some have sent nothing, some half of their headers, some half of their body.
        const share = [0, 40, head.length + 20][n % 3] ?? 0;
        await wire.write(Buffer.concat([head, framedBody]).subarray(0, share));
        return wire;
      }),
    );
    await sleep(Math.min(timing.stallMs, 100));
    const note = "While twenty other connections were open and silent.";
    const sent = Array.from({ length: 3 }, () => deliver(event(), { note }));
    const exchanges = await Promise.all(sent);
    for (const wire of stalled) wire.close();
    return allAcknowledged(exchanges);
  },
  "wire.lives-on": {
    // It is the others that bring a receiver down.
    again: "",
    run: accepted(async ({ deliver, event }) => [
      await deliver(event("call.completed")),
      await deliver(event("voicemail.created")),
    ]),
  },
};

/** After something hostile, an ordinary delivery has to be acknowledged. */
function survived(attack: (context: CheckContext) => Promise<Verdict | void>): Check["run"] {
  return async (context) => {
    const attacked = (await attack(context)) ?? { outcome: "passed" };
    return every(attacked, allAcknowledged([await context.deliver(context.event())]));
  };
}

/** What the service would never sign: its answer is free, but the receiver had better live on. */
function signedOddities(bodies: Deliverable[]): Pick<Check, "level" | "phase" | "run"> {
  const run = survived(async ({ deliver }) => {
    await Promise.all(bodies.map((body) => deliver(body, { timeoutMs: 2_000 })));
  });
  return { level: "advice", phase: "odd", run };
}

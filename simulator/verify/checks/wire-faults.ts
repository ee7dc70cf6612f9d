import { setTimeout as sleep } from "node:timers/promises";
import type { Check, CheckContext, Named, Verdict } from "../check.ts";
import type { Deliverable, DeliverOptions } from "../delivery.ts";
import { attemptsAfter, taken } from "../attempts.ts";
import { allAcknowledged, allRefused, every } from "../judge.ts";
import { RULES } from "../rules.ts";

const SURVIVE_HINT =
  "Catch what a request handler throws, and answer 4xx. Nothing that a stranger sends may end the process or leave it stuck.";

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

/**
 * Whether the receiver keeps answering after what a broken network or a stranger may send. Each of these ends with an
 * ordinary delivery, which must be acknowledged.
 */
export const wireFaultChecks: Check[] = [
  survives(
    { name: "reset-mid-body", title: "survives a connection cut in the middle of a body", level: "must" },
    async ({ deliver, event }) => {
      await deliver(event(), { forged: true, manner: cutAfter("head and half of the body", 0.5) });
    },
  ),
  survives(
    {
      name: "reset-mid-head",
      title: "survives a connection cut in the middle of the headers",
      level: "must",
    },
    async ({ open, compose, event }) => {
      const wire = await open();
      const { head } = compose(event());
      await wire.write(head.subarray(0, 60));
      wire.reset();
    },
  ),
  survives(
    {
      name: "body-ends-early",
      title: "survives a client that ends before its body is complete",
      level: "must",
    },
    async ({ deliver, event }) => {
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
    },
  ),
  survives(
    { name: "half-close", title: "survives a client that ends its side after the request", level: "must" },
    async (context) => {
      // Whether an answer still reaches such a client differs among HTTP servers; the retry has to be taken in any case.
      const exchanges = await attemptsAfter(context, context.event(), {
        timeoutMs: 1_000,
        manner: {
          note: "The client ended its side of the connection right after the request.",
          send: async (wire, { head, framedBody }) => {
            await wire.write(Buffer.concat([head, framedBody]));
            wire.halfClose();
          },
        },
      });
      return taken(exchanges);
    },
  ),
  survives(
    { name: "not-http", title: "survives bytes that are not HTTP", level: "must" },
    async ({ open }) => {
      for (const rubbish of [
        Buffer.from("\0\u0001\u0002 rubbish \r\n\r\n"),
        Buffer.from("160301020001000001fc0303", "hex"),
        Buffer.from("POST\r\n\r\n"),
        Buffer.from("POST / HTTP/1.1\r\nContent-Length: -5\r\nContent-Length: 7\r\n\r\n"),
        Buffer.alloc(20_000, 0x41),
      ]) {
        const wire = await open();
        await wire.write(rubbish);
        wire.halfClose();
        await wire.answer({ timeoutMs: 200 });
        wire.close();
      }
    },
  ),
  survives(
    { name: "large-head", title: "survives headers of 200 KB", level: "must" },
    async ({ deliver, event }) => {
      await deliver(event(), { forged: true, headers: [["X-Large", "0".repeat(200_000)]], timeoutMs: 2_000 });
    },
  ),
  {
    ...survives(
      { name: "large-forgery", title: "refuses a forged body of 2 MB and lives on", level: "must" },
      async ({ deliver, event }) => {
        const body = Buffer.alloc(2_000_000, JSON.stringify(event()));
        return allRefused([await deliver(body, { secret: "not-the-secret", forged: true })]);
      },
    ),
    spec: RULES.forged,
    hint: "Bound the body that you read from strangers; 1 MB is ample for an event.",
  },
  {
    ...survives(
      {
        name: "forged-rubbish",
        title: "refuses forged bodies that are no events, and lives on",
        level: "must",
      },
      async ({ deliver }) => {
        const forged = [...NO_JSON, ...NO_EVENT, DEEP, NO_UTF8].map((body) =>
          deliver(body, { secret: "not-the-secret", forged: true }),
        );
        return allRefused(await Promise.all(forged));
      },
    ),
    spec: RULES.forged,
    hint: "Verify before you parse: a stranger may send any bytes, and none of them may reach a parser.",
  },
  signedOddity("no-json", "survives a signed body that is not JSON", NO_JSON),
  signedOddity("no-object", "survives signed JSON that is not an event", NO_EVENT),
  signedOddity("deep-nesting", "survives signed JSON of a hundred thousand levels", [DEEP]),
  signedOddity("invalid-utf8", "survives a signed body that is not UTF-8", [NO_UTF8]),
  {
    ...survives(
      { name: "odd-requests", title: "survives other methods and paths", level: "must" },
      async ({ target, open }) => {
        for (const line of ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"].map(
          (method) => `${method} ${target.path}`,
        )) {
          const wire = await open();
          await wire.write(
            Buffer.from(`${line} HTTP/1.1\r\nHost: ${target.host}\r\nConnection: close\r\n\r\n`),
          );
          await wire.answer({ timeoutMs: 500 });
          wire.close();
        }
      },
    ),
  },
  {
    id: "wire.stalled-clients",
    title: "acknowledges deliveries while other clients hold connections open",
    level: "advice",
    group: "wire",
    spec: RULES.robust,
    hint: "Serve connections side by side (threads, an event loop), and give a request that does not move a few seconds.",
    phase: "alone",
    run: async ({ deliver, event, open, compose, timing }) => {
      const stalled = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const wire = await open();
          const { head, framedBody } = compose(event());
          const request = Buffer.concat([head, framedBody]);
          // Some have sent nothing, some half of their headers, some half of their body.
          const share = [0, 40, head.length + 20][n % 3] ?? 0;
          await wire.write(request.subarray(0, share));
          return wire;
        }),
      );
      await sleep(Math.min(timing.stallMs, 100));
      const exchanges = await Promise.all(
        Array.from({ length: 3 }, () =>
          deliver(event(), {
            note: "While twenty other connections were open and silent.",
          }),
        ),
      );
      for (const wire of stalled) wire.close();
      return allAcknowledged(exchanges);
    },
  },
  {
    id: "wire.lives-on",
    title: "still acknowledges deliveries at the end of the run",
    level: "must",
    group: "wire",
    spec: RULES.robust,
    hint: SURVIVE_HINT,
    phase: "last",
    // It is the others that bring a receiver down.
    again: "",
    run: async ({ deliver, event }) =>
      allAcknowledged([await deliver(event("call.completed")), await deliver(event("voicemail.created"))]),
  },
];

/** A check that does something hostile, alone, and then needs an ordinary delivery to be acknowledged. */
function survives(
  { name, title, level }: Named<"title" | "level">,
  attack: (context: CheckContext) => Promise<Verdict | void>,
): Check {
  return {
    id: `wire.${name}`,
    title,
    level,
    group: "wire",
    spec: RULES.robust,
    hint: SURVIVE_HINT,
    phase: "alone",
    run: async (context) => {
      const attacked = (await attack(context)) ?? { outcome: "passed" };
      return every(attacked, allAcknowledged([await context.deliver(context.event())]));
    },
  };
}

/** What the service would never sign: its answer is free, but the receiver had better live on. */
function signedOddity(name: string, title: string, bodies: Deliverable[]): Check {
  return survives({ name, title, level: "advice" }, async ({ deliver }) => {
    await Promise.all(bodies.map((body) => deliver(body, { timeoutMs: 2_000 })));
  });
}

function cutAfter(what: string, share: number): NonNullable<DeliverOptions["manner"]> {
  return {
    note: `The connection was reset after ${what}.`,
    send: async (wire, { head, framedBody }) => {
      await wire.write(Buffer.concat([head, framedBody.subarray(0, Math.floor(framedBody.length * share))]));
      await sleep(20);
      wire.reset();
    },
  };
}

import { attemptsAfter, CUT_SHORT, taken } from "../attempts.ts";
import type { Check, Runs, Verdict } from "../check.ts";
import type { CheckContext } from "../context.ts";
import {
  type Deliverable,
  type DeliverOptions,
  type Exchange,
  isLastOfConnection,
  writePaced,
} from "../delivery.ts";
import { chunkedFix } from "../framework.ts";
import { accepted, allAcknowledged, allRefused, every, failed } from "../judgement.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** Lowest first byte of a multi-byte character in UTF-8. */
const FIRST_OF_SEVERAL = 0xc0;

/** The possible ends of a connection that the receiver refuses. */
const CLOSED = new Set(["closed", "reset"]);

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
 * Whether a delivery is accepted in every form that HTTP and TCP allow, and whether the receiver still answers after the
 * effects of a broken network or an attacker: each of those ends with an ordinary delivery.
 */
export const wireRuns: Runs = {
  "wire.charset": sent({ headers: [["Content-Type", "application/json; charset=utf-8"]] }),
  "wire.no-content-type": sent({ headers: [] }),
  "wire.other-content-type": sent({ headers: [["Content-Type", "text/plain"]] }),
  "wire.chunked": async (context) => {
    const exchange = await context.deliver(context.event(), { chunked: true });
    const verdict = allAcknowledged([exchange]);
    if (verdict.outcome !== "failed") return verdict;
    return failed("length_required", `${verdict.problem} ${chunkedFix(context, exchange)}`, [exchange]);
  },
  "wire.http-1.0": sent({ httpVersion: "1.0" }),
  "wire.many-headers": sent({
    headers: [
      ["Content-Type", "application/json"],
      ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      ["X-Forwarded-For", "203.0.113.7, 198.51.100.2"],
      ["X-Forwarded-Proto", "https"],
      ...Array.from({ length: 37 }, (_, n): [string, string] => [`X-Extra-${n}`, "0123456789".repeat(4)]),
    ],
  }),
  "wire.segmented": accepted(async ({ deliver, event }) => [
    await deliver(event(), { manner: inPieces(40, 2) }),
    await deliver(event("voicemail.created"), { manner: inPieces(7, 15) }),
  ]),
  "wire.split-multibyte": accepted(({ deliver, event }) => {
    const transcript = "Agent: 東京 🍕 Zoë, crème brûlée, Ísafjörður";
    const body = Buffer.from(JSON.stringify(event("call.completed", { transcript })));
    // A busy receiver reads several pieces at once: there are enough that it sees one alone.
    const cutAt = [...body.entries()].flatMap(([at, byte]) => (byte >= FIRST_OF_SEVERAL ? [at + 1] : []));
    const note = `Cut after the first byte of each of ${String(cutAt.length)} characters, 50 ms apart.`;
    return deliver(body, { pieces: { cutAt, pauseMs: 50 }, note });
  }),
  "wire.slow-body": accepted(({ deliver, event, timing }) => {
    const body = Buffer.from(JSON.stringify(event()));
    const pieces = { cutAt: [Math.floor(body.length / 2)], pauseMs: timing.stallMs };
    const note = `Half of the body, then a pause of ${timing.stallMs} ms, then the rest.`;
    return deliver(body, { pieces, note });
  }),
  "wire.same-connection": async ({ event, open, deliverOver }) => {
    const wire = await open();
    const exchanges: Exchange[] = [];
    const note = "One of three requests over one connection; the second is forged.";
    for (const secret of [undefined, "not-the-secret", undefined]) {
      const forged = secret !== undefined;
      const exchange = await deliverOver(wire, event(), { keepAlive: true, secret, forged, note });
      const { outcome } = exchange;
      // A server may end a connection when it likes, before the next request; the service then opens another.
      if (exchanges.length > 0 && outcome.kind === "no_answer" && CLOSED.has(outcome.error)) break;
      exchanges.push(exchange);
      if (outcome.kind === "answered" && isLastOfConnection(outcome)) break;
    }
    wire.close();
    return allAcknowledged(exchanges.filter((_, index) => index !== 1));
  },
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
  // HTTP servers differ in whether they answer such a client; the retry must be accepted in any case.
  "wire.half-close": survived(async (context) =>
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
    // The other ones crash receivers.
    again: "",
    run: accepted(async ({ deliver, event }) => [
      await deliver(event("call.completed")),
      await deliver(event("voicemail.created")),
    ]),
  },
};

/** An ordinary event has to be acknowledged although the request looks different. */
function sent(changes: DeliverOptions): Check["run"] {
  return accepted(({ deliver, event }) => deliver(event(), changes));
}

/** Sends the request in `count` pieces of equal length, `pauseMs` apart. */
function inPieces(count: number, pauseMs: number): NonNullable<DeliverOptions["manner"]> {
  return {
    note: `In ${count} pieces, ${pauseMs} ms apart.`,
    send: async (wire, { head, framedBody }) => {
      const bytes = Buffer.concat([head, framedBody]);
      const size = Math.ceil(bytes.length / count);
      const pieces = Array.from({ length: count }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
      await writePaced(wire, pieces, pauseMs);
    },
  };
}

/** After something hostile, an ordinary delivery has to be acknowledged. */
function survived(attack: (context: CheckContext) => Promise<Verdict | void>): Check["run"] {
  return async (context) => {
    const attacked = (await attack(context)) ?? { outcome: "passed" };
    return every(attacked, allAcknowledged([await context.deliver(context.event())]));
  };
}

/** A body that the service would never sign: any answer is right, but the receiver must keep running. */
function signedOddities(bodies: Deliverable[]): Check["run"] {
  return survived(async ({ deliver }) => {
    await Promise.all(bodies.map((body) => deliver(body, { timeoutMs: 2_000 })));
  });
}

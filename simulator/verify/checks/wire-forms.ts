import { setTimeout as sleep } from "node:timers/promises";
import type { Check, Runs } from "../check.ts";
import { type DeliverOptions, type Exchange, isLastOfConnection } from "../delivery.ts";
import { chunkedFix } from "../framework.ts";
import { accepted, allAcknowledged, failed } from "../judgement.ts";

/** Lowest first byte of a multi-byte character in UTF-8. */
const FIRST_OF_SEVERAL = 0xc0;

/** How a connection ends that the receiver no longer wants. */
const CLOSED = new Set(["closed", "reset"]);

/** Whether a delivery is taken in every form that HTTP and TCP may give it. */
export const wireFormRuns: Runs = {
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
    // A receiver that is kept busy finds several pieces at once: there are enough that it sees one by itself.
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
      for (let from = 0; from < bytes.length; from += size) {
        await wire.write(bytes.subarray(from, from + size));
        await sleep(pauseMs);
      }
    },
  };
}

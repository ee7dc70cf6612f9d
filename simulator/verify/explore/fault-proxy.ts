import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { http } from "../../http.ts";
import { GENUINE } from "../../signature-recipe/recipe.ts";
import type { Exchange, SentRequest } from "../delivery.ts";
import { openWire, type Outcome, type Target } from "../wire.ts";
import type { Fate, Schedule } from "./schedule.ts";

/** One whole, genuine delivery that the proxy let through, and what the receiver said to it. */
export type Passage = { attempt: number; exchange: Exchange };

type Plan = {
  schedule: Schedule;
  attempts: number;
  passages: Passage[];
  copy: () => Promise<void>;
  underWay: Promise<void>[];
};

const SLOW_PIECES = 5;
const SLOW_PAUSE_MS = 8;

/**
 * Stands between the service and a receiver and does to each attempt what the event's schedule says: lets it through,
 * answers in the receiver's place, loses the answer, cuts the connection in the middle of the body.
 */
export async function startFaultProxy(options: { target: Target; timeoutMs: number }) {
  const { target, timeoutMs } = options;
  const plans = new Map<string, Plan>();
  const server = http.createServer((request, response) => void play(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the fault proxy has no port");

  async function play(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const body = await wholeBody(request);
    const eventId = /evt_[0-9a-f]{32}/.exec(body.toString("latin1"))?.[0] ?? "";
    const plan = plans.get(eventId);
    if (plan === undefined) return void response.writeHead(404).end();
    plan.attempts += 1;
    const attempt = plan.attempts;
    const step = plan.schedule[attempt - 1] ?? { fate: "2xx" };
    const work = playFate(step.fate);
    plan.underWay.push(work);
    if (step.copy === "during") plan.underWay.push(plan.copy());
    if (step.copy === "after") plan.underWay.push(work.then(() => plan.copy()));

    function sent(): SentRequest {
      const copy = step.copy === undefined ? "" : `, with a copy ${step.copy} it`;
      return {
        url: target.url,
        headers: headersOf(request),
        body,
        signature: { headerName: SIGNATURE_HEADER, recipe: GENUINE },
        httpVersion: "1.1",
        note: `Attempt ${attempt} of its schedule: ${step.fate}${copy}.`,
      };
    }

    async function playFate(fate: Fate): Promise<void> {
      if (fate === "4xx") return void response.writeHead(404).end();
      // Whether the service has given up or lost its connection is the same to the receiver, and nobody has to wait.
      if (fate === "time-out") return void response.destroy();
      const sentAt = performance.now();
      const outcome = await forward(request, body, fate);
      if (fate === "reset") return void response.destroy();
      const durationMs = performance.now() - sentAt;
      plan?.passages.push({ attempt, exchange: { eventId, request: sent(), outcome, durationMs } });
      if (fate === "late 2xx") return void response.destroy();
      if (fate === "5xx") return void response.writeHead(502).end();
      if (outcome.kind === "answered") return void response.writeHead(outcome.status).end(outcome.body);
      return void response.destroy();
    }
  }

  /** Sends the request on, byte for byte as it came. */
  async function forward(request: IncomingMessage, body: Buffer, fate: Fate): Promise<Outcome> {
    const wire = await openWire(target, timeoutMs);
    const head = headOf(request, target);
    if (fate === "reset") {
      await wire.write(Buffer.concat([head, body.subarray(0, body.length / 2)]));
      wire.reset();
    } else if (fate === "slow body") {
      await wire.write(head);
      const size = Math.ceil(body.length / SLOW_PIECES);
      for (let from = 0; from < body.length; from += size) {
        await wire.write(body.subarray(from, from + size));
        await sleep(SLOW_PAUSE_MS);
      }
    } else {
      await wire.write(Buffer.concat([head, body]));
    }
    const outcome = await wire.answer();
    wire.close();
    return outcome;
  }

  return {
    url: `http://127.0.0.1:${address.port}/`,
    /** Says what is to happen to an event; `copy` sends one more copy of it past the proxy. */
    plan(eventId: string, schedule: Schedule, copy: () => Promise<void>): void {
      plans.set(eventId, { schedule, copy, attempts: 0, passages: [], underWay: [] });
    },
    /** What got through of an event, once everything under way for it has ended. */
    async passagesOf(eventId: string): Promise<Passage[]> {
      const plan = plans.get(eventId);
      await Promise.all(plan?.underWay ?? []);
      return plan?.passages ?? [];
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function wholeBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The headers that came, but for those about the connection. */
function headersOf({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (!["host", "connection"].includes(name.toLowerCase())) headers.push([name, value]);
  }
  return headers;
}

function headOf(request: IncomingMessage, target: Target): Buffer {
  const lines = [
    `POST ${target.path} HTTP/1.1`,
    `Host: ${target.host}`,
    "Connection: close",
    ...headersOf(request).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { startFaultProxy } from "../../simulator/verify/explore/fault-proxy.ts";
import {
  describeSchedule,
  simplerSchedules,
  type Fate,
  type Schedule,
} from "../../simulator/verify/explore/schedule.ts";
import { parseTarget } from "../../simulator/verify/wire.ts";
import { listen } from "../helpers/listen.ts";

describe("a schedule", () => {
  test("is simpler without any one of its attempts or copies, and with any simpler fate", () => {
    const schedule: Schedule = [{ fate: "5xx" }, { fate: "4xx", copy: "after" }];
    expect(simplerSchedules(schedule)).toEqual([
      [{ fate: "4xx", copy: "after" }],
      [{ fate: "5xx" }],
      [{ fate: "2xx" }, { fate: "4xx", copy: "after" }],
      [{ fate: "4xx" }, { fate: "4xx", copy: "after" }],
      [{ fate: "5xx" }, { fate: "4xx" }],
      [{ fate: "5xx" }, { fate: "2xx", copy: "after" }],
    ]);
    expect(simplerSchedules([{ fate: "2xx" }])).toEqual([]);
  });

  test("is told to its end: with the success that follows it, unless it has one or six attempts", () => {
    expect(describeSchedule([{ fate: "reset" }, { fate: "late 2xx", copy: "during" }])).toBe(
      "reset → late 2xx with a copy during it → 2xx",
    );
    expect(describeSchedule([{ fate: "4xx" }, { fate: "slow body" }])).toBe("4xx → slow body");
    expect(describeSchedule(Array.from({ length: 6 }, () => ({ fate: "5xx" })))).toBe(
      Array.from({ length: 6 }, () => "5xx").join(" → "),
    );
  });
});

describe("what the proxy in front of a receiver does to an attempt", () => {
  async function started() {
    const arrived: string[] = [];
    const receiver = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => undefined);
      request.on("end", () => {
        arrived.push(Buffer.concat(pieces).toString());
        response.writeHead(201).end("taken");
      });
    });
    const { url } = await listen(receiver);
    const proxy = await startFaultProxy({ target: parseTarget(`${url}/webhooks`), timeoutMs: 5_000 });
    onTestFinished(async () => proxy.close());
    return { arrived, proxy };
  }

  test.for<[fate: Fate, answered: number | undefined, arrives: boolean]>([
    ["2xx", 201, true],
    ["slow body", 201, true],
    ["4xx", 404, false],
    ["5xx", 502, true],
    ["time-out", undefined, false],
    ["late 2xx", undefined, true],
    ["reset", undefined, false],
  ])("%s", async ([fate, answered, arrives]) => {
    const { arrived, proxy } = await started();
    const id = `evt_${"0".repeat(32)}`;
    proxy.plan(id, [{ fate }], async () => undefined);
    const body = JSON.stringify({ id });
    const answer = fetch(proxy.url, { method: "POST", body }).then(
      ({ status }) => status,
      () => undefined,
    );
    expect(await answer).toBe(answered);
    const passages = await proxy.passagesOf(id);
    expect(passages.map(({ exchange }) => exchange.outcome)).toMatchObject(
      arrives ? [{ kind: "answered", status: 201 }] : [],
    );
    expect(arrived.includes(body)).toBe(arrives);
  });
});

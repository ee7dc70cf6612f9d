import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { wireHeaders } from "../../simulator/domain/attempt-request.ts";
import type { FaultName } from "../../simulator/domain/faults.ts";
import type { Outcome } from "../../simulator/domain/outcome.ts";
import { createNetwork } from "../../simulator/verify/explore/network.ts";
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

describe("what the network in front of a receiver does to an attempt", () => {
  async function started() {
    const arrived: string[] = [];
    const receiver = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => undefined);
      request.on("end", () => {
        arrived.push(`${request.method} ${request.url} ${Buffer.concat(pieces).toString()}`);
        response.writeHead(201).end("taken");
      });
    });
    const { url } = await listen(receiver);
    const network = createNetwork({ target: parseTarget(`${url}/webhooks`), timeoutMs: 5_000 });
    return { arrived, network };
  }

  test.for<[fate: Fate, outcome: Outcome, arrives: boolean]>([
    ["2xx", { status: 201 }, true],
    ["slow body", { status: 201 }, true],
    ["4xx", { status: 404 }, false],
    ["5xx", { status: 502 }, true],
    ["time-out", { error: "timeout" }, false],
    ["late 2xx", { error: "timeout" }, true],
    ["reset", { error: "reset" }, false],
  ])("%s", async ([fate, outcome, arrives]) => {
    const { arrived, network } = await started();
    const id = `evt_${"0".repeat(32)}`;
    network.plan(id, [{ fate }], async () => undefined);
    const body = Buffer.from(JSON.stringify({ id }));
    const url = "http://localhost/";
    const request = {
      url,
      headers: wireHeaders({ url, signature: "t=1,v1=x", body }),
      body,
      answerMeans: "headers" as const,
      faults: new Set<FaultName>(),
      signal: new AbortController().signal,
    };
    expect((await network.send(request)).outcome).toEqual(outcome);
    const passages = await network.passagesOf(id);
    expect(passages.map(({ exchange }) => exchange.outcome)).toMatchObject(
      arrives ? [{ kind: "answered", status: 201 }] : [],
    );
    expect(arrived.includes(`POST /webhooks ${body.toString()}`)).toBe(arrives);
  });
});

import { createServer } from "node:http";
import { expect, test } from "vitest";
import { health } from "../../receiver/operations/commands/health.ts";
import { orComplain } from "../../receiver/operations/commands/with-engine.ts";
import { errorKind } from "../../receiver/operations/page/dead-letters.ts";
import { distance, moment } from "../../receiver/operations/page/layout.ts";
import { freePort } from "../helpers/free-port.ts";
import { listen } from "../helpers/listen.ts";
import { testConfig } from "./helpers/receiver.ts";
import { recordingTerminal } from "./helpers/terminal.ts";

/** What operators read. */

test.each([
  [0, "0 s ago"],
  [-499, "0 s ago"],
  [-1_000, "1 s ago"],
  [-59_400, "59 s ago"],
  [-59_500, "1 min ago"],
  [-3_599_000, "59 min ago"],
  [-3_600_000, "1 h ago"],
  [-86_399_000, "23 h ago"],
  [-86_400_000, "1 d ago"],
  [-30 * 86_400_000, "30 d ago"],
  [30_000, "in 30 s"],
  [7_200_000, "in 2 h"],
])("%i ms from now is %s", (ms, words) => {
  expect(distance(ms)).toBe(words);
  expect(moment(Date.UTC(2026, 0, 31, 18, 5, 9), Date.UTC(2026, 0, 31, 18, 5, 9) - ms).markup).toBe(
    `<time datetime="2026-01-31T18:05:09.000Z">2026-01-31 18:05:09 UTC</time>\n    <span class="quiet">(${words})</span>`,
  );
});

test.each([
  [null, "no error is known"],
  ["POS answered 503 after 812 ms", "POS answered 503 after … ms"],
  ["POS answered 503 after 503 ms", "POS answered 503 after … ms"],
  ["waited 100ms for 2.5 tables", "waited …ms for … tables"],
  ["no order_4e91c7d25ab84f06 of evt_0123456789ABCDEF0123456789abcdef", "no … of …"],
  ["HTTP 600 and 099", "HTTP … and …"],
  ["v2 of x86", "v2 of x86"],
  ["x".repeat(201), "x".repeat(200)],
])("of the error %j its kind is %j", (lastError, kind) => {
  expect(errorKind({ lastError })).toBe(kind);
});

test.each([
  [200, { status: "ready", checks: { database: "ok" } }, 0, "ready"],
  [
    503,
    { status: "not_ready", checks: { database: "busy", disk: "ok", draining: "shutting down" } },
    1,
    "not ready: database busy, draining shutting down",
  ],
  [503, { something: "else" }, 1, "not ready: "],
])("health answers to %i by what it says", async (status, body, code, words) => {
  const asked: string[] = [];
  const { port } = await listen(
    createServer(({ url }, response) => {
      asked.push(url ?? "");
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }),
  );
  const nobody = String(await freePort());
  for (const [role, ports] of [
    ["ingest", { PORT: String(port), ADMIN_PORT: nobody }],
    ["worker", { PORT: nobody, ADMIN_PORT: String(port) }],
  ] as const) {
    const terminal = recordingTerminal();
    expect(
      await orComplain(terminal, async () =>
        health({ config: testConfig({ RECEIVER_ROLE: role, ...ports }), terminal }),
      ),
    ).toBe(code);
    expect(terminal.printed).toEqual([words]);
  }
  expect(asked).toEqual(["/readyz", "/readyz"]);
  const away = recordingTerminal();
  expect(
    await orComplain(away, async () =>
      health({ config: testConfig({ PORT: nobody, HOST: "0.0.0.0" }), terminal: away }),
    ),
  ).toBe(3);
  expect(away.said).toEqual([expect.stringContaining(`http://127.0.0.1:${nobody}/readyz`)]);
});

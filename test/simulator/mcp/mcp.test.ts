import { execFile } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSimulator, type RunningSimulator } from "../../../simulator/index.ts";
import { answer, answerProblem } from "../../../simulator/mcp/tools.ts";
import { listen } from "../../helpers/listen.ts";

const SECRET = "whsec_nobody_may_read_this";
const TOKEN = "token-that-stays-here";

let simulator: RunningSimulator;
let client: Client;
let status = 500;
const receiver = createServer((request, response) => {
  request.resume().once("end", () => response.writeHead(status).end());
});
const errors: string[] = [];

beforeAll(async () => {
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const { port } = receiver.address() as AddressInfo;
  simulator = await startSimulator({ calls: 0 });
  simulator.endpoints.add({ url: `http://127.0.0.1:${port}/webhooks`, secret: SECRET });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["simulator/main.ts", "mcp", "--simulator", simulator.url, "--token", TOKEN],
    stderr: "pipe",
  });
  client = new Client({ name: "test", version: "1" });
  // Output on stdout that is not a protocol message arrives here.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has this alone
  client.onerror = (error) => errors.push(String(error));
  await client.connect(transport);
});
afterAll(async () => {
  await client.close();
  await simulator.close();
  receiver.close();
});

async function call(name: string, input: Record<string, unknown> = {}) {
  const { content, isError = false } = (await client.callTool({ name, arguments: input })) as {
    content: { text: string }[];
    isError?: boolean;
  };
  const text = content.map((part) => part.text).join("");
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(TOKEN);
  return { text, isError, json: () => JSON.parse(text) as Record<string, never> };
}

describe("an assistant, over stdio", () => {
  test("finds six tools, each with a description and a schema", async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(["trigger", "deliveries", "explain", "move_time", "verify"]);
    for (const tool of tools)
      expect(tool).toMatchObject({ description: /./, inputSchema: { type: "object" } });
  });

  test("triggers an event, sees why it failed, fixes the receiver and moves time", async () => {
    const triggered = (await call("trigger", { type: "voicemail.created" })).json() as unknown as {
      deliveries: { id: string }[];
    };
    const id = triggered.deliveries[0]?.id ?? "";
    await simulator.deliveries.settled();
    const explained = await call("explain", { delivery_id: id });
    expect(explained.json()).toMatchObject({ id, state: "attempting", attempts: [{ http_status: 500 }] });
    status = 200;
    expect((await call("move_time", { seconds: 60 })).isError).toBe(false);
    const listed = await call("deliveries", { state: "delivered" });
    expect(listed.json()).toMatchObject({ data: [{ id, attempts: [{}, { http_status: 200 }] }] });
  });

  test("runs verify, and gets the checks that did not pass before the others", async () => {
    const { json } = await call("verify", {
      only: ["signature.missing-header", "duplicates.in-sequence"],
      wait_seconds: 20,
    });
    const report = json() as unknown as { not_passed: { outcome: string }[]; state: string };
    expect(report).toMatchObject({ state: "ended", verdict: "failed" });
    expect(report.not_passed[0]?.outcome).toBe("failed");
  });

  test.each([
    ["trigger", {}, "Give either a type"],
    ["trigger", { type: "call.complete" }, "call.completed"],
    ["trigger", { scenario: "outge" }, 'Did you mean "outage"?'],
    ["move_time", {}, "Give either seconds or until."],
    ["explain", { delivery_id: "dlv_x" }, 'There is no delivery "dlv_x".'],
    ["deliveries", { limit: 51 }, "50"],
  ])("gets an error for %s %j", async (name, input, message) => {
    const { text, isError } = await call(name, input);
    expect(isError).toBe(true);
    expect(text).toContain(message);
  });

  test("gets only the protocol on standard output", () => {
    expect(errors).toEqual([]);
  });
});

test("answers are bounded, and never repeat the token", () => {
  const [{ text } = { text: "" }] = answer("x".repeat(50_000)).content;
  expect(text.length).toBeLessThan(20_200);
  expect(text).toContain("ask for less");
  const problem = answerProblem(`${TOKEN}: run: deliveries --token ${TOKEN}`, TOKEN);
  expect(problem).toEqual({
    content: [{ type: "text", text: "…: run: deliveries --token …" }],
    isError: true,
  });
});

test("ends with its input, and has answered until then", async () => {
  const slow = createServer((_request, response) => {
    setTimeout(() => response.end('{"object":"list","data":[],"has_more":false,"next_cursor":null}'), 300);
  });
  const asked = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "deliveries", arguments: {} },
  };
  const words = ["simulator/main.ts", "mcp", "--simulator", (await listen(slow)).url];
  const running = promisify(execFile)(process.execPath, words);
  running.child.stdin?.end(`${JSON.stringify(asked)}\n`);
  const { stdout, stderr } = await running;
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { content: [{ type: "text" }] } });
});

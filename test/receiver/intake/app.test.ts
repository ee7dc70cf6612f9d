import express, { type RequestHandler } from "express";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../receiver/app.ts";
import { createHealth } from "../../../receiver/operations/health.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { listen } from "../../helpers/listen.ts";
import { handClock } from "../helpers/intake.ts";

/** What the app answers when a route of your own fails. */

async function ask(route: RequestHandler, body: string) {
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const health = createHealth({
    probe: async () => ({ ok: true }),
    clock: handClock(),
    freeBytes: async () => Number.POSITIVE_INFINITY,
    minimumFreeBytes: 0,
    role: "ingest",
  });
  onTestFinished(health.stop);
  const parts = { middleware: async () => undefined, health, logRequest: () => undefined };
  const app = createApp(parts, { webhookPath: "/webhooks", log });
  app.post("/own", route);
  // It stands before the end of the app, as one that is written into it does.
  app.router.stack.unshift(...app.router.stack.splice(-1));
  const { url } = await listen(createServer(app));
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/own`, { method: "POST", headers, body });
  return { status: answer.status, json: await answer.json(), logLines };
}

test.each([
  ["no JSON", "{", 400],
  ["more than is taken", JSON.stringify("x".repeat(100)), 413],
])("a body that is %s is the client's mistake, and no error in the log", async (_, body, status) => {
  const answer = await ask(express.json({ limit: 50 }), body);
  expect(answer).toEqual({
    status,
    json: { error: "invalid_request", message: expect.any(String) },
    logLines: [],
  });
});

test("an error of the route's own is told to nobody but the log", async () => {
  const { status, json, logLines } = await ask(() => {
    throw new Error("the password is 1234");
  }, "{}");
  expect({ status, json }).toEqual({
    status: 500,
    json: { error: "server_error", message: "The request failed. Its log says why." },
  });
  expect(logLines.join("")).toContain("a request failed");
});

import express, { type RequestHandler } from "express";
import { expect, test } from "vitest";
import { startIntake } from "../helpers/intake.ts";

/** The app's answer if a fork's own route fails. */

async function ask(route: RequestHandler, body: string) {
  const { url, logLines } = await startIntake({
    change: (app) => {
      app.post("/own", route);
      // It is added before the final routes, as a fork's own route is.
      app.router.stack.unshift(...app.router.stack.splice(-1));
    },
  });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(new URL("/own", url), { method: "POST", headers, body });
  return { status: answer.status, json: await answer.json(), logLines };
}

test.each([
  ["no JSON", "{", 400],
  ["more than is taken", JSON.stringify("x".repeat(100)), 413],
])("a body that is %s is the client's mistake, and no error in the log", async (_, body, status) => {
  const json = { error: "invalid_request", message: expect.any(String) };
  expect(await ask(express.json({ limit: 50 }), body)).toEqual({ status, json, logLines: [] });
});

test("an error in a route is only logged", async () => {
  const { status, json, logLines } = await ask(() => {
    throw new Error("the password is 1234");
  }, "{}");
  const message = "The request failed. Its log says why.";
  expect({ status, json }).toEqual({ status: 500, json: { error: "server_error", message } });
  expect(logLines.join("")).toContain("a request failed");
});

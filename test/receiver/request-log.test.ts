import { expect, test } from "vitest";
import { newBody } from "./helpers/events.ts";
import { startIntake } from "./helpers/intake.ts";
import { rawRequest, sendRaw } from "./helpers/raw.ts";

test("the log names what was asked by its path, and keeps the query to itself", async () => {
  const { url, logLines } = await startIntake();
  for (const path of ["/webhooks?key=very-private", "http://kit.test/webhooks?key=very-private"])
    expect((await sendRaw(url, rawRequest(url, { path, body: newBody() }))).status).toBe(200);
  expect((await sendRaw(url, rawRequest(url, { path: "/nowhere?key=very-private" }))).status).toBe(404);
  const lines = logLines.map((line) => JSON.parse(line) as { path: string; status: number });
  expect(lines.map(({ path, status }) => `${path} ${String(status)}`)).toEqual([
    "/webhooks 200",
    "/webhooks 200",
    "/nowhere 404",
  ]);
  expect(logLines.join("")).not.toContain("very-private");
});

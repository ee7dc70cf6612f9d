import { expect, test } from "vitest";
import { createLog } from "../../receiver/operations/log.ts";
import { createRequestLog } from "../../receiver/operations/request-log.ts";
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

test("a request is logged as bad as its answer, checks of health only for whoever looks closely, and paths up to a length", () => {
  const lines: { level: string; path: string }[] = [];
  const log = createLog({
    level: "debug",
    destination: { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) },
  });
  const logRequest = createRequestLog(log);
  for (const [status, path] of [
    [200, "/webhooks"],
    [200, "/healthz"],
    [399, "/webhooks"],
    [400, "/webhooks"],
    [499, "/healthz"],
    [500, "/readyz"],
    [404, `/${"x".repeat(400)}`],
  ] as const)
    logRequest({ method: "POST", path, status, durationMs: 1 });
  expect(lines.map(({ level }) => level)).toEqual(["info", "debug", "info", "warn", "warn", "error", "warn"]);
  expect(lines.at(-1)?.path).toBe(`/${"x".repeat(199)}`);
});

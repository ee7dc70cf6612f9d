import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { createRequestLog } from "../../receiver/operations/request-log.ts";
import { newBody } from "./helpers/events.ts";
import { handClock, startIntake } from "./helpers/intake.ts";
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
  const logRequest = createRequestLog({ log, clock: systemClock });
  for (const [status, path] of [
    [200, "/webhooks"],
    [200, "/healthz"],
    [200, "/readyz"],
    [399, "/webhooks"],
    [400, "/webhooks"],
    [499, "/healthz"],
    [500, "/readyz"],
    [404, `/${"x".repeat(400)}`],
  ] as const)
    logRequest({ method: "POST", path, status, durationMs: 1 });
  expect(lines.map(({ level }) => level)).toEqual([
    "info",
    "debug",
    "debug",
    "info",
    "warn",
    "warn",
    "error",
    "warn",
  ]);
  expect(lines.at(-1)?.path).toBe(`/${"x".repeat(199)}`);
});

test.each([
  [1, 1, []],
  [10, 10, []],
  [11, 10, [1]],
  [12, 10, [2]],
])(
  "of %i strangers in a second %i have a line, and %j are counted together",
  async (knocks, own, together) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      level: "info",
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    const clock = handClock();
    const logRequest = createRequestLog({ log, clock });
    for (let knock = 0; knock < knocks; knock += 1)
      logRequest({ method: "POST", path: "/webhooks", status: 415, refused: "encoding.unsupported" });
    expect(lines).toHaveLength(own);
    clock.pass(1_000);
    expect(
      lines.slice(own).map(({ level, status, reason, requests }) => [level, status, reason, requests]),
    ).toEqual(together.map((requests) => ["warn", 415, "encoding.unsupported", requests]));
  },
);

test("strangers cannot fill the log: of each reason ten requests a second are logged, and how many more there were", async () => {
  const clock = handClock();
  const { url, logLines, metrics } = await startIntake({ clock });
  const said = (): unknown[] =>
    logLines
      .splice(0)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ level, status, reason, requests }) => ({ level, status, reason, requests }));
  const line = (reason: string | undefined, status: number, requests?: number) => ({
    level: "warn",
    status,
    reason,
    requests,
  });
  const knock = async (count: number, options: Parameters<typeof rawRequest>[1]): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) await sendRaw(url, rawRequest(url, options));
  };

  await knock(25, { body: newBody(), signatures: ["t=1,v1=00"] });
  expect(said()).toEqual(Array(10).fill(line("signature_malformed", 401)));
  await knock(12, { path: "/nowhere" });
  await knock(1, { body: newBody(), headers: [["Content-Encoding", "gzip"]] });
  expect(said()).toEqual([
    ...Array<unknown>(10).fill(line(undefined, 404)),
    line("encoding.unsupported", 415),
  ]);
  // Who has the secret is never left out.
  await knock(15, { body: newBody() });
  expect(said()).toHaveLength(15);
  clock.pass(1_000);
  expect(said()).toEqual([line("signature_malformed", 401, 15), line("404", 404, 2)]);
  // The next second begins anew.
  await knock(1, { body: newBody(), signatures: ["t=1,v1=00"] });
  clock.pass(1_000);
  expect(said()).toEqual([line("signature_malformed", 401)]);
  expect((await metrics.text()).body).toContain(
    'receiver_rejections_total{reason="signature_malformed",class="refused"} 26',
  );
});

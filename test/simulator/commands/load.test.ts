import { expect, test } from "vitest";
import { RESPONSE_TIMEOUT_MS } from "../../../simulator/domain/limits.ts";
import { verify } from "../../../shared/signature.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { run } from "./in-process.ts";

const secret = "whsec_test";

test("sends signed events with unique ids, and measures how they are acknowledged", async () => {
  const receiver = await startEndpoint();
  const { code, json } = await run("load", receiver.url, "--secret", secret, "--duration", "300ms", "--json");
  expect(code).toBe(0);
  const result = json();
  expect(result).toMatchObject({
    object: "load",
    interrupted: false,
    dropped: 0,
    failures: {},
    duplicates: 0,
  });
  expect(result.acknowledged).toBe(receiver.received.length);
  expect(result.latency_ms.p50).toBeLessThanOrEqual(result.latency_ms.p99);
  expect(result.latency_ms.p99_9).toBeLessThanOrEqual(result.latency_ms.max);

  const ids = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  expect(new Set(ids).size).toBe(ids.length);
  const nowSeconds = Math.floor(Date.now() / 1000);
  for (const { signature, body } of receiver.received.slice(0, 10)) {
    expect(verify({ headers: [signature], body, secrets: [secret], nowSeconds })).toMatchObject({ ok: true });
  }
});

test("with a rate it sends that many, including duplicates", async () => {
  const receiver = await startEndpoint();
  const options = ["--rate", "200", "--duration", "500ms", "--duplicates", "10%", "--json"];
  const { json } = await run("load", receiver.url, "--secret", secret, ...options);
  expect(json()).toMatchObject({ sent: 100, acknowledged: 100 });
  expect(json().duplicates).toBeGreaterThanOrEqual(8);
  const ids = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  expect(new Set(ids).size).toBe(100 - json().duplicates);
});

test("unacknowledged events are counted by status, and exit 1", async () => {
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(count % 2 === 0 ? 503 : 200).end(),
  );
  const options = ["--rate", "100", "--duration", "200ms"];
  const { code, out } = await run("load", receiver.url, "--secret", secret, ...options);
  expect(code).toBe(1);
  expect(out).toMatch(/Acknowledged {2}10 of 20/);
  expect(out).toMatch(/Failed +10 × 503/);
});

test.each([
  [200, 0, "\nWhere it breaks:  add --knee\n"],
  [401, 1, "\nIt refuses the signature: is --secret the one that it verifies with?\n"],
  [403, 1, "\nIt refuses the signature: is --secret the one that it verifies with?\n"],
  [503, 1, ""],
])("if all are answered by %i it exits %i and says what to do: %j", async (status, exitCode, hint) => {
  const receiver = await startEndpoint(status);
  const options = ["--rate", "100", "--duration", "200ms", "--connections", "4"];
  const { code, out, err } = await run("load", receiver.url, "--secret", secret, ...options);
  expect({ code, err }).toEqual({ code: exitCode, err: hint });
  const rows = out.trimEnd().split("\n");
  const isTaken = status === 200;
  expect(rows[0]).toMatch(isTaken ? /^Acknowledged {2}20 of 20, \d+\/s$/ : /^Acknowledged {2}0 of 20, 0\/s$/);
  const more = rows.slice(1).map((row) => (isTaken ? row.split(/ +/)[0] : row));
  expect(more).toEqual(isTaken ? ["p50", "p99", "p99.9", "max"] : [`Failed        20 × ${status}`]);
});

test("events not sent because too many waited are reported, and fail the run", async () => {
  // One connection that stalls at first, while thousands fall due.
  const receiver = await startEndpoint((response, count) => {
    if (count === 1) setTimeout(() => response.writeHead(200).end(), 700);
    else response.writeHead(200).end();
  });
  const options = ["--rate", "6000", "--duration", "500ms", "--connections", "1"];
  const { code, out, err } = await run("load", receiver.url, "--secret", secret, ...options);
  const [, taken, sent] = /^Acknowledged {2}(\d+) of (\d+),/.exec(out) ?? [];
  const [, left] = /^Not sent {6}(\d+), since too many were waiting$/m.exec(out) ?? [];
  expect({ code, err, taken }).toEqual({ code: 1, err: "", taken: sent });
  expect(Number(left)).toBeGreaterThan(0);
  expect(Number(sent) + Number(left)).toBe(3_000);
});

test("the figures are measured: the rate over the elapsed time, latencies in milliseconds", async () => {
  const receiver = await startEndpoint((response) => setTimeout(() => response.writeHead(200).end(), 60));
  const options = ["--duration", "400ms", "--connections", "2", "--json"];
  const report = (await run("load", receiver.url, "--secret", secret, ...options)).json();
  expect(report).toMatchObject({ object: "load", url: receiver.url, sent: receiver.received.length });
  expect(report.duration_ms).toBeGreaterThanOrEqual(400);
  const rate = report.acknowledged / (report.duration_ms / 1_000);
  expect(Math.abs(report.acknowledged_per_second - rate)).toBeLessThan(0.1 * rate);
  for (const name of ["p50", "p99", "p99_9", "max"]) {
    expect(report.latency_ms[name]).toBeGreaterThanOrEqual(55);
    expect(report.latency_ms[name]).toBeLessThan(report.duration_ms);
  }
});

test.each([
  [0, [], { code: 3, said: "Acknowledged  0 of 0" }],
  [0, ["--json"], { code: 3, said: '"interrupted":true' }],
  [0, ["--knee"], { code: 3, said: "Interrupted before any rate had held" }],
  // One event, which a busy machine answers within a second, too.
  [1, ["--knee", "--rate", "1", "--duration", "1s"], { code: 0, said: "it holds at least 1 events a" }],
])("Ctrl-C after %i answers ends load at once, with what was measured: %j", async (most, options, ended) => {
  const { code, said } = ended;
  const receiver = await startEndpoint((response, count) => {
    if (count > most) process.emit("SIGINT");
    else response.writeHead(200).end();
  });
  const startedMs = performance.now();
  const result = await run("load", receiver.url, "--secret", secret, "--connections", "2", ...options);
  // Before the time-out of an answer.
  expect(performance.now() - startedMs).toBeLessThan(RESPONSE_TIMEOUT_MS);
  expect(result.code).toBe(code);
  expect(result.out).toContain(said);
});

test("--knee raises the rate until the receiver no longer keeps up", async () => {
  let busyUntilMs = 0;
  const receiver = await startEndpoint((response) => {
    // Takes 8 ms each, one after another: 125 a second at most.
    busyUntilMs = Math.max(busyUntilMs, performance.now()) + 8;
    setTimeout(() => response.writeHead(200).end(), busyUntilMs - performance.now());
  });
  const options = ["--knee", "--rate", "50", "--duration", "300ms", "--json"];
  const { code, json } = await run("load", receiver.url, "--secret", secret, ...options);
  const { rate, steps } = json<{ rate: number | null; steps: { rate: number; holds: boolean }[] }>();
  // A very busy machine may not even keep 50 a second; knee.test.ts tests where the knee is.
  expect(code).toBe(steps[0]?.holds === true ? 0 : 1);
  const held = steps.filter(({ holds }) => holds).map((step) => step.rate);
  expect(rate).toBe(held.length === 0 ? null : Math.max(...held));
  expect(rate ?? 0).toBeLessThan(200);
  expect(steps.some(({ holds }) => !holds)).toBe(true);
});

test("--knee of a receiver that fails at once says that it breaks at the first rate", async () => {
  const receiver = await startEndpoint(503);
  const words = ["--secret", secret, "--knee", "--rate", "60", "--duration", "100ms"];
  const { code, out, err } = await run("load", receiver.url, ...words);
  expect({ code, out }).toEqual({ code: 1, out: "It breaks at the first rate already, 60 a second.\n" });
  expect(err).toMatch(/^ {4}60\/s {2}0 acknowledged\/s {2}p99 0\.0 ms {2}6 failed {2}breaks$/m);
});

test("a receiver that does not listen could not be loaded", async () => {
  const { code, err } = await run("load", "http://127.0.0.1:1/", "--secret", secret, "--duration", "100ms");
  expect(code).toBe(3);
  expect(err).toContain("Nothing listens at http://127.0.0.1:1/: start your receiver first.");
});

test.each([
  [["http://example.com/"], "load sends to this machine only, and example.com is another"],
  [["https://example.com/"], "add --allow-host example.com if you may"],
  [["nonsense"], "Give a full URL"],
  [
    ["http://example.com/", "--allow-host", "example.com", "--duration", "0s"],
    "give a duration above 0, up to 1h",
  ],
  [["http://localhost:9/", "--rate", "fast"], "Give events a second"],
  [["http://localhost:9/", "--duplicates", "120%"], "Give a share such as 5%"],
  [["http://localhost:9/", "--connections", "0"], "Give a whole number from 1 to 1000"],
])("%j is wrong usage, in one line", async (args, message) => {
  const { code, out, err } = await run("load", ...args, "--secret", secret);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Behaviour, CORRECT } from "../mutants/behaviour.ts";
import { type RunningReceiver, SECRET, startMutant } from "../mutants/receiver.ts";
import { run } from "../simulator/commands/in-process.ts";
import { verifyCli } from "./cli.ts";
import { freePort } from "../helpers/free-port.ts";

let folder: string;
const running: RunningReceiver[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "verify-command-"));
});

afterAll(async () => {
  await Promise.all(running.map((receiver) => receiver.close()));
  await rm(folder, { recursive: true });
});

afterEach(() => vi.unstubAllEnvs());

async function start(changes: Partial<Behaviour> = {}): Promise<string> {
  const receiver = await startMutant(changes, Date.now);
  running.push(receiver);
  return receiver.url;
}

/** Runs in this process, since a start takes a second; a process only for tests that need it. */
async function verifyHere(words: string[]) {
  const { code, out: stdout, err: stderr } = await run("verify", ...words);
  return { code, stdout, stderr };
}

/** Options that write every report, to be read by `report`. */
const reportsTo = (name: string) =>
  ["json", "junit", "markdown", "github"].flatMap((one) => [
    "--report",
    `${one}=${join(folder, name)}.${one}`,
  ]);
const report = (name: string) => readFile(join(folder, name), "utf8");

const verify = (url: string, ...words: string[]) => verifyHere([url, "--secret", SECRET, ...words]);

describe("verify", () => {
  test("exits 0 when every check passes, and says so", async () => {
    const { code, stdout } = await verify(await start(), "--only", "acknowledgement");

    expect(stdout).toMatch(/✓ acknowledgement +10 passed/);
    expect(stdout).toContain("PASSED  12 passed, 0 failed, 0 advice, 0 unverified");
    expect(code).toBe(0);
  });

  test("exits 1 on a failure, with evidence, rule, fix and the ways to repeat it", async () => {
    const url = await start({ duplicateStatus: 409 });
    const { code, stdout } = await verify(url, "--only", "duplicates.in-sequence", "--seed", "abc");

    expect(code).toBe(1);
    expect(stdout).toContain("✗ A duplicate was refused (1 check)");
    expect(stdout).toContain("  duplicates.in-sequence  acknowledges the same event six times in a row");
    expect(stdout).toContain("It should be acknowledged, but the receiver answered 409");
    expect(stdout).toContain(
      "rule:     The same event (same id) may arrive more than once; de-duplicate by id.",
    );
    expect(stdout).toContain("fix: Answer 2xx to an event that is stored already");
    expect(stdout).toMatch(
      /^ {4}sent: {5}POST http.*\n {14}Content-Type: application\/json\n {14}X-Service-Signature: t=\d+,v1=.*\n {14}\{"id":/m,
    );
    expect(stdout).toContain("received: 409 after");
    expect(stdout).toContain(
      "| curl -sS -i -m 10 -H 'Content-Type: application/json' -H \"X-Service-Signature: t=$T,v1=$V1\"",
    );
    expect(stdout).toContain(
      `again:    voice-agent-simulator verify ${url} --secret "$SIGNING_SECRET" --only duplicates.in-sequence --seed abc`,
    );
    expect(stdout).not.toContain(SECRET);
  });

  test("exits 3 if nothing listens: nothing was verified", async () => {
    const { code, stdout } = await verify(`http://127.0.0.1:${await freePort()}/webhooks`);

    expect(code).toBe(3);
    expect(stdout).toContain("cannot be reached. Nothing listened at the address (connection refused).");
    expect(stdout).toContain("COULD NOT RUN  nothing was verified");
  });

  test("names the wrong recipe of a receiver that refuses everything genuine", async () => {
    const url = await start({ signedStrings: (_, body) => [body] });
    const { code, stdout } = await verify(url);

    expect(code).toBe(1);
    expect(stdout).toContain(
      "accepts a wrong signature of this kind: The body alone was hashed, without t and the period before it.",
    );
  });

  test("counts what it could not judge separately, and fails on it only on request", async () => {
    const url = await start();
    const [lenient, strict] = [
      await verify(url, "--only", "effects.each-type"),
      await verify(url, "--only", "effects.each-type", "--fail-on", "unverified"),
    ];

    expect(lenient.stdout).toContain("2 passed, 0 failed, 0 advice, 1 unverified");
    expect(lenient.stdout).toContain("Give --observe 'http://…/{id}'");
    expect(lenient.stdout.trimEnd().split("\n").at(-1)).toBe(
      "Unproven: whether each event is handled exactly once (1 check). " +
        "To prove it, give --observe 'http://…/{id}' (one line in your receiver: docs/observe.md).",
    );
    expect([lenient.code, strict.code]).toEqual([0, 1]);
  });

  test("writes several reports at once", async () => {
    const url = await start({ duplicateStatus: 409 });
    const typo = await verify(url, "--report", `json=${join(folder, "reprots", "verify.json")}`);
    expect(typo.code).toBe(2);
    expect(typo.stderr).toContain(`there is no folder ${join(folder, "reprots")}: make it`);
    expect(existsSync(join(folder, "reprots"))).toBe(false);

    const only = ["--only", "duplicates.in-sequence,duplicates.hour-between,effects.each-type"];
    const { code, stdout } = await verify(url, ...only, ...reportsTo("failed"), "--report", "github");
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAILED/);
    expect(stdout).toContain("::error title=A duplicate was refused::Fix: Answer 2xx");
    expect(JSON.parse(await report("failed.json"))).toMatchObject({ summary: { failed: 2, unverified: 1 } });
    expect(await report("failed.junit")).toContain('<testsuite name="duplicates" tests="2" failures="2"');
    expect(await report("failed.markdown")).toContain("| duplicates | 0 | 2 | 0 | 0 |");
    expect(await report("failed.github")).toContain("::notice title=unverified: 1::");
  });

  test("prints complete JSON and nothing else with --json", async () => {
    const words = [await start(), "--secret", SECRET, "--only", "acknowledgement", "--json"];
    const { stdout, code } = await verifyCli(words);

    expect(JSON.parse(stdout)).toMatchObject({
      object: "verify_report",
      verdict: "passed",
      summary: { passed: 12 },
    });
    expect(code).toBe(0);
  });

  test("shows advice in every report, and fails on it only on request", async () => {
    const url = await start({
      takeApart: (value, state) =>
        value.startsWith("t=") ? CORRECT.takeApart(value, state) : { ts: [], v1s: [] },
    });
    const only = ["--only", "signature.key-order,signature.no-t,effects.each-type"];
    const [lenient, must, onAdvice, onUnverified, both, strict] = [
      await verify(url, ...only, ...reportsTo("advice")),
      await verify(url, ...only, "--level", "must", "--fail-on", "advice"),
      await verify(url, ...only, "--fail-on", "advice"),
      await verify(url, ...only, "--level", "must", "--fail-on", "advice,unverified"),
      await verify(url, "--only", "signature.key-order", "--fail-on", "unverified"),
      await verify(url, "--only", "signature.key-order", "--strict"),
    ];

    const codes = [lenient, must, onAdvice, onUnverified, both, strict].map(({ code }) => code);
    expect(codes).toEqual([0, 0, 1, 1, 0, 1]);
    expect(lenient.stdout).toContain("(1 check, advice)");
    expect(lenient.stdout).toContain("  signature.key-order  accepts v1 before t");
    expect(lenient.stdout).toContain("PASSED  3 passed, 0 failed, 1 advice, 1 unverified");
    expect(await report("advice.junit")).toContain('<property name="cause" value="signature_refused"/>');
    expect(await report("advice.junit")).not.toContain("<failure");
    expect(await report("advice.github")).toMatch(/^::warning title=A signed delivery.*signature.key-order/);
    expect(await report("advice.markdown")).toMatch(/Advice: A signed delivery[^]*signature.key-order/);
    expect(JSON.parse(await report("advice.json"))).toMatchObject({
      verdict: "passed",
      summary: { advice: 1 },
    });
  });

  test("judges an endpoint that is registered for some events only by these", async () => {
    const url = await start({
      acceptable: ({ type }) => type.startsWith("call.tr") || type === "order.created" || 400,
    });
    const only = ["--only", "acknowledgement,evolution,raw-bytes,readings"];
    const [chosen, all] = [
      await verify(url, ...only, "--events", "call.transferred,order.created", "--strict"),
      await verify(url, ...only),
    ];

    expect(chosen.stdout).toMatch(/PASSED {2}\d\d passed, 0 failed, 0 advice, 0 unverified/);
    expect([chosen.code, all.code]).toEqual([0, 1]);
  });

  test("sends to another machine only if that is allowed, and says what", async () => {
    const url = "https://receiver.invalid/webhooks";
    const observe = ["--observe", "https://counts.invalid/{id}"];
    const [refused, observed, allowed] = [
      await verify(url),
      await verify("http://127.0.0.1:1/webhooks", ...observe),
      await verify(url, ...observe, "--allow-host", "receiver.invalid", "--allow-host", "counts.invalid"),
    ];

    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("add --allow-host receiver.invalid if it is yours to test");
    expect(observed.stderr).toContain("add --allow-host counts.invalid");
    expect(allowed.stderr).toMatch(
      /Sending to receiver\.invalid: \d{3} checks with generated deliveries, honest, forged/,
    );
    expect(allowed.code).toBe(3);
  });

  test("lists its checks without running any", async () => {
    const { stdout, code } = await verifyHere(["--list", "--only", "crash", "--json"]);

    expect(code).toBe(0);
    const { data } = JSON.parse(stdout) as { data: object[] };
    expect(data[0]).toEqual({
      id: "crash.restarts",
      group: "crash",
      level: "must",
      title: "comes back after kill -9 and acknowledges again",
      rule: "SPEC §6 Receiver expectations",
    });
    const { stdout: table } = await verifyHere(["--list"]);
    expect(table).toMatch(
      /^production.drains +advice +answers what is .* \(with --level production\) +SPEC §6 Receiver expectations$/m,
    );
    expect(table.match(/with --level production/g)).toHaveLength(6);
  });

  const KNOWN = ["http://127.0.0.1:1/x", "--secret", "s"];
  test.each([
    [["--only", "signatur"], 'No check matches "signatur"'],
    [["http://127.0.0.1:1/x"], "No signing secret"],
    [[], "verify needs a receiver"],
    [[...KNOWN, "--report", "tap"], "--report tap: give pretty, json, junit, markdown, github"],
    [[...KNOWN, "--observe", "http://127.0.0.1:1/x"], "with {id} where the event id belongs"],
    [[...KNOWN, "--level", "may"], "Allowed choices are must, advice, production"],
    [[...KNOWN, "--fail-on", "advise"], "Give advice or unverified, or both with a comma."],
  ])("exits 2 on wrong usage: %j", async (words, message) => {
    vi.stubEnv("SIGNING_SECRET", "");
    const { code, stderr } = await verifyHere(words);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

test("control: the unchanged receiver of these tests passes", async () => {
  const only = ["--only", "duplicates,evolution.unknown-type,signature.key-order"];
  const { code } = await verify(await start(), ...only);
  expect(code).toBe(0);
});

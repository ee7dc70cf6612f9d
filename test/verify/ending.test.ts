import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import { EXIT_CODES } from "../../simulator/verify/report.ts";
import { whenSettled } from "../../simulator/verify/judgement.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { QUICK } from "../mutants/judge.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { isAlive } from "../helpers/is-alive.ts";
import { run as runProcess } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { run } from "../simulator/commands/in-process.ts";
import { freePort } from "../helpers/free-port.ts";
import { verifyCli } from "./cli.ts";

async function start(): Promise<string> {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  return receiver.url;
}

const [HONEST] = CATALOGUE.filter(({ id }) => id === "acknowledgement.call-completed");

function broken(changes: Partial<Check>): Check {
  if (HONEST === undefined) throw new Error("there is no such check");
  return { ...HONEST, ...changes };
}

async function reportOn(check: Check, signal?: AbortSignal) {
  const url = await start();
  const checks = HONEST === undefined ? [check] : [HONEST, check];
  const options = { url, secret: SECRET, seed: "1", checks, timing: QUICK, now: Date.now };
  return runChecks({ ...options, ...(signal !== undefined && { signal }) });
}

function oops(): never {
  throw new Error("oops");
}

describe("a bug of ours", () => {
  test.each([
    ["in a check", { run: async () => oops() }],
    ["in its judgement of effects", { run: async () => whenSettled(oops) }],
  ])("%s leaves what else was found, and says that the verdict is not whole", async (_, changes) => {
    const report = await reportOn(broken({ id: "acknowledgement.bug", ...changes }));

    expect(report).toMatchObject({
      verdict: "incomplete",
      incomplete: expect.stringMatching(
        /^verify itself failed in the check acknowledgement\.bug, .*: oops \(ending\.test\.ts:\d+\)$/,
      ),
    });
    expect(report.results.map(({ check, outcome }) => `${check.id} ${outcome}`)).toEqual([
      "preflight.reachable passed",
      "preflight.accepts passed",
      "acknowledgement.call-completed passed",
      "acknowledgement.bug unverified",
    ]);
    expect(EXIT_CODES[report.verdict]).toBe(3);
  });
});

test("an interruption ends a run at once, with its results so far", async () => {
  const interruption = new AbortController();
  const run = (): Promise<never> => {
    interruption.abort();
    return new Promise(() => undefined);
  };
  const endless = broken({ id: "acknowledgement.endless", phase: "alone", run });
  const report = await reportOn(endless, interruption.signal);

  expect(report).toMatchObject({ verdict: "incomplete", incomplete: "It was interrupted.", notRun: 1 });
  expect(report.results.at(-1)).toMatchObject({ check: { id: HONEST?.id }, outcome: "passed" });
});

const RECEIVER = `
  const { createServer } = require("node:http");
  process.on("SIGTERM", () => {});
  createServer((request, response) => {
    request.resume().on("end", () => {
      if (answers-- > 0) response.writeHead(200).end();
      else if (!marked) { marked = true; require("node:fs").writeFileSync(process.env.MARK, String(process.pid)); }
    });
  }).listen(process.env.PORT, "127.0.0.1");
  let marked = false;
  let answers = 6;
`;

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends verify at once: report written, a receiver that ignores it gone",
  async (signal) => {
    const folder = temporaryDirectory();
    const mark = join(folder, "silent");
    const file = join(folder, "verify.json");
    const url = `http://127.0.0.1:${await freePort()}/`;
    const command = ["--", process.execPath, "-e", RECEIVER];
    const words = ["verify", "--url", url, "--skip", "crash", "--report", `json=${file}`, ...command];
    const verify = runProcess("simulator/main.ts", words, { MARK: mark });
    // It no longer answers, and all checks wait.
    await expect.poll(() => (existsSync(mark) ? readFileSync(mark, "utf8") : "")).toMatch(/\d/);
    const receiver = Number(readFileSync(mark, "utf8"));
    const signalledAt = performance.now();
    const { code } = await verify.kill(signal);

    // Less than the grace period of a process that is asked to stop.
    expect(performance.now() - signalledAt).toBeLessThan(5_000);
    expect(code).toBe(3);
    expect(isAlive(receiver)).toBe(false);
    const expected = { verdict: "incomplete", incomplete: "It was interrupted." };
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject(expected);
    expect(verify.out.join("\n")).toMatch(/^INCOMPLETE {2}It was interrupted\. {2}/m);
  },
);

test("an invalid report or secret is refused in one line before anything is sent", async () => {
  const folder = temporaryDirectory();
  const url = await start();
  const file = join(folder, "file");
  writeFileSync(file, "");
  mkdirSync(join(folder, "folder"));
  const wrong = [
    ["--report", `json=${join(folder, "folder")}`, "it cannot be written (it is a directory)"],
    ["--report", `junit=${join(file, "verify.xml")}`, `it cannot be written (${file} is a file)`],
    ["--secret", `@${folder}`, "it is a directory"],
    ["--secret", "@/dev/zero", "it is a device"],
  ];
  for (const [option = "", value = "", message = ""] of wrong) {
    const secret = option === "--secret" ? [] : ["--secret", SECRET];
    const { code, out, err } = await run("verify", url, ...secret, option, value);
    expect({ code, out, lines: err.trimEnd().split("\n").length }).toEqual({ code: 2, out: "", lines: 1 });
    expect(err).toContain(message);
  }
});

test.skipIf(!existsSync("/dev/full"))("a full disk is reported in one line, with exit code 3", async () => {
  const words = ["--only", "acknowledgement.call-completed", "--report", "json=/dev/full"];
  const { code, err } = await run("verify", await start(), "--secret", SECRET, ...words);
  expect({ code, err }).toEqual({ code: 3, err: "The report /dev/full could not be written (ENOSPC).\n" });
});

test("a run ends even if a receiver detached from its command holds its pipes, and does not report lost events", async () => {
  const folder = temporaryDirectory();
  const receiver = join(import.meta.dirname, "../mutants/crash-receiver.ts");
  const apart = `require("node:child_process")
    .spawn(process.execPath, [process.argv[1]], { detached: true, stdio: "inherit" })
    .once("spawn", function () { require("node:fs").writeFileSync(process.argv[2], String(this.pid)); });`;
  const pidFile = join(folder, "apart.pid");
  const url = `http://127.0.0.1:${await freePort()}`;
  const words = ["--url", url, "--observe", `${url}/handled/{id}`, "--only", "crash"];
  const command = [process.execPath, "-e", apart, receiver, pidFile];
  onTestFinished(async () => {
    const pid = Number(readFileSync(pidFile, "utf8"));
    process.kill(pid, "SIGKILL");
    // It writes to the folder, which is removed next.
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
  const { code, stdout } = await verifyCli([...words, "--", ...command], { STORE: join(folder, "apart") });

  expect(stdout).toMatch(/PASSED {2}3 passed, 0 failed, 0 advice, 8 unverified/);
  expect(stdout).toContain("kill -9 of the command did not end the receiver, which still listens.");
  expect(code).toBe(0);
});

import { expect, onTestFinished, test, vi } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { repeatCommand } from "../../simulator/verify/evidence.ts";
import { acceptsCheck } from "../../simulator/verify/preflight.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { invocationOf, verifyReceiver, type VerifyOptions } from "../../simulator/verify/verify-receiver.ts";
import { QUICK } from "../mutants/judge.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { freePort } from "../helpers/free-port.ts";

/** The words that run again what nobody was there for. */
async function wordsOf(options: Partial<VerifyOptions>): Promise<string> {
  const report = await verifyReceiver({
    url: "http://127.0.0.1:1/it's",
    secret: SECRET,
    seed: "7",
    checks: CATALOGUE.slice(0, 1),
    failOn: [],
    readyTimeoutMs: 30_000,
    now: Date.now,
    ...options,
  });
  const [result] = report.results;
  if (result === undefined) throw new Error("there is no result");
  return repeatCommand(report, result);
}

const URL_WORD = String.raw`'http://127.0.0.1:1/it'\''s'`;

test("a line that runs a check again names what its outcome depends on, and nothing else", async () => {
  expect(await wordsOf({})).toBe(
    `voice-agent-simulator verify ${URL_WORD} --secret "$SIGNING_SECRET" --seed 7`,
  );
  expect(
    await wordsOf({
      observeUrl: "http://me:secret@127.0.0.1:1/{id}",
      events: ["call.completed", "order.created"],
      thorough: true,
      clockVariable: "FAKETIME",
      effectsWithinMs: 60_000,
      readyTimeoutMs: 5_000,
      allowHosts: ["receiver.test"],
      failOn: ["advice", "unverified"],
      seed: "$HOME",
    }),
  ).toBe(
    `voice-agent-simulator verify ${URL_WORD} --secret "$SIGNING_SECRET" --observe 'http://127.0.0.1:1/{id}' ` +
      "--events call.completed,order.created --thorough --clock-variable FAKETIME --effects-within 60 --ready-timeout 5 " +
      "--allow-host receiver.test --fail-on advice,unverified --seed '$HOME'",
  );
});

test("a line that starts the receiver again names a secret that was given, and none that was made up", async () => {
  const url = `http://127.0.0.1:${await freePort()}/`;
  const command = ["sh", "-c", "exit 4"];
  const start = `voice-agent-simulator verify --url ${url}`;
  expect(await wordsOf({ url, command })).toBe(`${start} --seed 7 -- sh -c 'exit 4'`);
  expect(await wordsOf({ url, command, secretGiven: true })).toBe(
    `${start} --secret "$SIGNING_SECRET" --seed 7 -- sh -c 'exit 4'`,
  );
});

test.each([
  ["/usr/bin/pwsh", ["'http://127.0.0.1:1/it''s'", "$env:SIGNING_SECRET", "'--'"]],
  ["/bin/sh", [URL_WORD, '"$SIGNING_SECRET"', "--"]],
])("the line is written for the shell, which is %s", (shell, [url, secret, dashes]) => {
  vi.stubEnv("SHELL", shell);
  onTestFinished(() => void vi.unstubAllEnvs());
  const invocation = invocationOf({
    url: "http://127.0.0.1:1/it's",
    command: ["node", "my server.js"],
    secretGiven: true,
  });
  const check = { ...acceptsCheck, id: "raw-bytes.unicode", again: "--only raw-bytes.unicode" };
  const result = { check, outcome: "failed" as const, exchanges: [], durationMs: 0 };
  expect(repeatCommand({ invocation, seed: "$HOME" }, result)).toBe(
    `voice-agent-simulator verify --url ${url} --secret ${secret} --only raw-bytes.unicode --seed '$HOME' ${dashes} node 'my server.js'`,
  );
});

test("in a checkout the line goes through npm, as the run did", async () => {
  const started = [...process.argv];
  onTestFinished(() => void process.argv.splice(0, Infinity, ...started));
  process.argv[1] = `${process.env["INIT_CWD"] ?? process.cwd()}/simulator/main.ts`;
  expect(await wordsOf({})).toMatch(/^npm run simulator -- verify 'http/);
});

test("counts that go on from a run with the same seed are told", async () => {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  const observedWith = async (seed: string) => {
    const { results } = await runChecks({
      url: receiver.url,
      secret: SECRET,
      seed,
      checks: CATALOGUE.filter(({ id }) => id === "effects.in-sequence"),
      observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
      timing: QUICK,
      now: Date.now,
    });
    return results.map(({ check, outcome, explanation }) => ({ id: check.id, outcome, explanation }));
  };
  const [, , fresh] = await observedWith("7");
  const [, , used, judged] = await observedWith("7");
  const [, , other] = await observedWith("8");

  expect([fresh, other].map((result) => result?.outcome)).toEqual(["passed", "passed"]);
  expect(used).toEqual({
    id: "preflight.observable",
    outcome: "unverified",
    explanation:
      "The receiver has handled events of the seed 7 before, and its counts go on from there. " +
      "To judge it afresh, empty its database or leave --seed out.",
  });
  expect(judged).toMatchObject({ id: "effects.in-sequence", outcome: "passed" });
});

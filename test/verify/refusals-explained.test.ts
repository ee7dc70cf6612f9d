import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { z } from "zod";
import { runChecks } from "../../simulator/verify/run.ts";
import { freePort } from "../helpers/free-port.ts";
import { listen } from "../helpers/listen.ts";
import { startRawServer } from "../helpers/raw-server.ts";
import { type Ran, run } from "../simulator/commands/in-process.ts";

/** The explanations of `verify` for a receiver that refuses everything, by its answer. */

const text = z.string().optional();
const checkSchema = z.object({ id: z.string(), outcome: z.string(), explanation: text, repeat: text });
const reportSchema = z.object({ verdict: z.string(), checks: z.array(checkSchema) });

/** A receiver that refuses everything, and what `verify` says of it. */
async function refusing(status: number, options: string[] = [], headers: () => object = () => ({})) {
  const { url } = await listen(
    createServer((request, response) => {
      request.resume().on("end", () => response.writeHead(status, { ...headers() }).end());
    }),
  );
  const ran = await run(
    "verify",
    `${url}/hooks`,
    "--secret",
    "s",
    "--json",
    ...options.map((word) => word.replace("URL", url)),
  );
  return { url, ...acceptsOf(ran) };
}

function acceptsOf({ code, out }: Ran): Partial<z.infer<typeof checkSchema>> {
  const { verdict, checks } = reportSchema.parse(JSON.parse(out));
  expect({ code, verdict }).toEqual({ code: 1, verdict: "failed" });
  return checks.find(({ id, outcome }) => id === "preflight.accepts" && outcome === "failed") ?? {};
}

test.each([
  [[300, 301, 302, 303, 307, 308], /with a redirect, for every delivery: the receiver answered STATUS/],
  [[404, 405], /answers STATUS to every delivery: \/hooks is not the path of its webhook route/],
  [[502, 503, 504], /still answers STATUS after 1 s; give it longer with --ready-timeout/],
  [[500], /failed with a server error, for every delivery: the receiver answered STATUS after/],
  [[400, 401, 403, 410, 422], /every genuine delivery, of every type: the receiver answered STATUS after/],
])("if every delivery is answered by one of %j it says what that means", async (statuses, words) => {
  for (const status of statuses) {
    const { explanation } = await refusing(status, ["--ready-timeout", "1"], () => ({
      location: "/elsewhere",
    }));
    expect(explanation).toMatch(new RegExp(words.source.replace("STATUS", String(status))));
  }
});

// A Date header has whole seconds, and an answer may take some seconds to arrive.
test.each([
  [310, /its clock is 31[0-2] s ahead of ours: deliveries are too old or too new for it\. Set its clock by/],
  [-900, /its clock is (?:89[7-9]|900) s behind ours: deliveries are too old/],
  [200, /Most likely it was started with another signing secret/],
])("a wrong clock of a receiver that refuses everything is reported: %i s", async (aheadSeconds, words) => {
  const date = () => ({ date: new Date(Date.now() + aheadSeconds * 1_000).toUTCString() });
  expect((await refusing(401, [], date)).explanation).toMatch(words);
});

test("a wrong secret is not suggested for a receiver that verify started itself", async () => {
  const port = await freePort();
  const program = `require("node:http").createServer((q, s) => q.resume().on("end", () => s.writeHead(401).end())).listen(process.env.PORT)`;
  const url = `http://127.0.0.1:${port}/hooks`;
  const ran = await run("verify", "--url", url, "--json", "--", process.execPath, "-e", program);
  const { explanation = "" } = acceptsOf(ran);
  expect(explanation).toContain("It was started with the right secret in the variable SIGNING_SECRET");
  expect(explanation).not.toContain("another signing secret");
});

/** Longer than any answer takes, however busy the machine. */
const LONG_MS = 20_000;

/** Receivers below HTTP, by what they do with a connection; and the time-out of an answer. */
const BROKEN: [string, (socket: Socket) => unknown, RegExp, number][] = [
  ["resets it", (socket) => socket.resetAndDestroy(), /cut the connection before it answered/, LONG_MS],
  ["closes it", (socket) => socket.end(), /closed the connection without a complete answer/, LONG_MS],
  ["speaks something else", (socket) => socket.end("220 mail ESMTP\r\n"), /answer was not HTTP/, LONG_MS],
  ["says nothing", () => undefined, /no answer within 0\.3 s/, 300],
];

const asked = { secret: "s", seed: "1", checks: [], now: Date.now };

test.each(BROKEN)(
  "a receiver that accepts a connection and %s counts as reachable, and fails",
  async (_, act, words, responseTimeoutMs) => {
    const { url } = await startRawServer(act);
    const timing = { readyMs: 0, responseTimeoutMs };
    const { verdict, results } = await runChecks({ ...asked, url, timing });
    expect({ verdict, ids: results.map(({ check, outcome }) => `${check.id} ${outcome}`) }).toEqual({
      verdict: "failed",
      ids: ["preflight.reachable passed", "preflight.accepts failed"],
    });
    expect(results[1]?.explanation).toMatch(/^The receiver accepts connections, but it got no answer: /);
    expect(results[1]?.explanation).toMatch(words);
  },
);

test.each([
  ["nobody listens", async () => `http://127.0.0.1:${await freePort()}/`, /Nothing listened at the address/],
  ["its name is unknown", async () => "https://receiver.invalid/", /The host name has no address/],
  [
    "its certificate is not accepted",
    async () => {
      const file = (name: string) =>
        readFileSync(new URL(`../helpers/certificates/${name}.pem`, import.meta.url));
      const tls = { key: file("key"), cert: file("expired") };
      return (await startRawServer(() => undefined, { tls })).tlsUrl;
    },
    /The TLS connection failed, and nothing was sent \(/,
  ],
])("nothing is verified where %s", async (_, makeUrl, words) => {
  const url = await makeUrl();
  const timing = { readyMs: 0, responseTimeoutMs: LONG_MS };
  const { verdict, results } = await runChecks({ ...asked, url, timing });
  expect({ verdict, ids: results.map(({ check, outcome }) => `${check.id} ${outcome}`) }).toEqual({
    verdict: "could_not_run",
    ids: ["preflight.reachable unverified"],
  });
  expect(results[0]?.explanation).toContain(`${url} cannot be reached. `);
  expect(results[0]?.explanation).toMatch(words);
});

test("the line that repeats a run has each option in its original unit", async () => {
  const limits = ["--effects-within", "60", "--ready-timeout", "7", "--allow-host", "receiver.test"];
  const given = ["--observe", "URL/{id}", "--events", "order.created"];
  const rest = ["--fail-on", "advice,unverified", "--seed", "s"];
  const { url, repeat } = await refusing(401, [...given, ...limits, ...rest]);
  expect(repeat).toBe(
    `voice-agent-simulator verify ${url}/hooks --secret "$SIGNING_SECRET" --observe '${url}/{id}' --events order.created ` +
      "--effects-within 60 --ready-timeout 7 --allow-host receiver.test " +
      "--fail-on advice,unverified --only preflight --seed s",
  );
});

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { listen } from "../../helpers/listen.ts";
import { runInBash } from "../../verify/bash.ts";
import { run } from "./in-process.ts";

const EVERY_LATIN_CHARACTER = Array.from({ length: 0x100 }, (_, unit) => String.fromCharCode(unit)).join("");
const HOSTILE = `$(exit 9)'"\n::error::x\r\n##vso[task.complete]x \u202e\u2028 ${EVERY_LATIN_CHARACTER}`;

const STEERING = /(?!\n)\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/u;
const BUILD_COMMAND = /^[^\S\n]*::|##\w*\[/m;

/** A simulator with the answers of a real one, and hostile characters appended to each free text. */
async function startHostile() {
  const simulator = await startSimulator({ seed: 7, calls: 0 });
  const endpoint = simulator.endpoints.add({ url: "http://127.0.0.1:9/" });
  await simulator.emit("voicemail.created");
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, text } = await answerOf(simulator.url, request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(spoiled(JSON.parse(text), "")));
  };
  const server = createServer((request, response) => void pass(request, response));
  onTestFinished(() => simulator.close());
  const { url } = await listen(server);
  const [delivery] = simulator.deliveries.list();
  return { url, endpoint: endpoint.id, delivery: delivery?.id ?? "", event: delivery?.eventId ?? "" };
}

async function answerOf(url: string, request: IncomingMessage): Promise<{ status: number; text: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const answer = await fetch(new URL(request.url ?? "/", url), {
    method: request.method ?? "GET",
    headers: { "content-type": "application/json" },
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Fields that must stay unchanged, or the commands would show nothing at all. */
const KEPT = /^(?:object|state|mode|schedule_time|wall_time|now|created|.*_at|has_more)$/;

function spoiled(value: unknown, key: string): unknown {
  if (typeof value === "string") return KEPT.test(key) ? value : `${value}${HOSTILE}`;
  if (Array.isArray(value)) return value.map((item) => spoiled(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, spoiled(inner, name)]));
}

test("no simulator's answer can control a terminal, a build server or a shell through a command", async () => {
  const hostile = await startHostile();
  const commands = [
    ["deliveries"],
    ["deliveries", "show", hostile.delivery],
    ["deliveries", "resend", hostile.delivery],
    ["deliveries", "show", "dlv_unknown"],
    ["events"],
    ["events", "show", hostile.event],
    ["endpoints"],
    ["endpoints", "add", "http://127.0.0.1:9/"],
    ["endpoints", "test", hostile.endpoint],
    ["trigger", "call.completed"],
    ["clock"],
    ["readings"],
  ];
  const address = `${hostile.url}/?$(exit 9)'"`;
  const hints: string[] = [];
  let shownAnything = 0;
  for (const command of commands) {
    for (const json of [[], ["--json"]]) {
      const { out, err } = await run(...command, "--simulator", address, ...json);
      const said = out + err;
      expect(said, command.join(" ")).not.toMatch(STEERING);
      expect(said, command.join(" ")).not.toMatch(BUILD_COMMAND);
      if (said.includes("$(exit 9)")) shownAnything += 1;
      hints.push(...[...said.matchAll(/voice-agent-simulator .*/g)].map(([hint]) => hint));
    }
  }
  expect(shownAnything).toBeGreaterThan(12);

  const ids = hints.filter((hint) => hint.includes("exit 9"));
  expect(ids.length).toBeGreaterThan(3);
  const taken = await runInBash(ids, {}, `voice-agent-simulator() { printf '%s|' "$@"; }`);
  expect(taken.length).toBe(ids.length);
  for (const [index, words] of taken.entries()) {
    const isElsewhere = ids[index]?.includes("--simulator") === true;
    expect(words).toContain(isElsewhere ? `|--simulator|${address}|` : `$(exit 9)'"`);
  }
});

test.each([
  ...[400, 401, 403, 404, 409, 413, 421, 429, 499].map((status) => [status, 2] as const),
  ...[500, 502, 503].map((status) => [status, 3] as const),
])(
  "an answer of %i ends a command with exit code %i and its message, on stderr alone",
  async (status, code) => {
    let body = JSON.stringify({ error: "some", message: "It is so." });
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
    const { url } = await listen(server);
    for (const words of [["clock"], ["trigger", "call.completed"], ["endpoints", "--json"]])
      expect(await run(...words, "--simulator", url)).toMatchObject({ code, out: "", err: "It is so.\n" });
    body = "<html>";
    const err = expect.stringContaining(`${url} does not answer like a simulator (${status}): `);
    for (const words of ["clock", "endpoints remove ep_1"])
      expect(await run(...words.split(" "), "--simulator", url)).toMatchObject({ code: 3, out: "", err });
  },
);

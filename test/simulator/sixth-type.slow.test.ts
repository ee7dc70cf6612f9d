import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { ROOT } from "../repository/files.ts";

const run = promisify(execFile);

/** What a sixth event type needs: each entry stands in front of a line that the file has. */
const ENTRIES: { file: string; before: string; entry: string }[] = [
  { file: "shared/events.ts", before: "] as const;\n", entry: '  "call.missed",\n' },
  {
    file: "shared/events.ts",
    before: "};\n\n/** `evt_` and 32",
    entry: '  "call.missed": "Nobody took a call.",\n',
  },
  {
    file: "shared/events.ts",
    before: "} as const satisfies Record<EventType, z.ZodType>",
    entry: '  "call.missed": callSchema,\n',
  },
  {
    file: "shared/samples.ts",
    before: "} satisfies { [Type in EventType]: EventObject<Type> }",
    entry: '  "call.missed": { ...sampleCall, id: "call_1111111111111111", duration_sec: 0 },\n',
  },
  {
    file: "simulator/domain/world/event-types.ts",
    before: "};\n\nfunction completedEnding",
    entry: `  "call.missed": {
    share: { restaurant: 5, services: 5 },
    item: "call",
    ending: () => ({ outcome: "completed", topic: "hours" }),
    sentence: (_call, who) => [\`\${who} was missed\`],
  },
`,
  },
  {
    file: "simulator/verify/table.ts",
    before: "acknowledgement.prompt ",
    entry: "acknowledgement.call-missed must together types acknowledges call.missed\n",
  },
];

/** A copy of the sources, with an event type more in the first `entries`. */
function copyWith(entries: typeof ENTRIES): string {
  const folder = temporaryDirectory();
  for (const part of ["shared", "simulator", "receiver", "package.json", "tsconfig.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const { file, before, entry } of entries) {
    const path = join(folder, file);
    const parts = readFileSync(path, "utf8").split(before);
    expect(parts, `${file} has ${before} once`).toHaveLength(2);
    writeFileSync(path, parts.join(entry + before));
  }
  return folder;
}

test("a sixth event type: the compiler names the files that need an entry for it, which are few", async () => {
  const folder = copyWith(ENTRIES.slice(0, 1));
  const missing = await typeErrors(folder, "TS2741");
  // The table of verify is text: it has a check for a type when someone writes one.
  const needed = new Set(
    ENTRIES.map(({ file }) => file).filter((file) => file !== "simulator/verify/table.ts"),
  );
  expect(missing.filter((file) => !file.startsWith("simulator/dashboard/"))).toEqual([...needed]);
});

/** The files in which the compiler finds such errors. */
async function typeErrors(folder: string, code: string): Promise<string[]> {
  const options = ["--noEmit", "--pretty", "false"];
  const compiled = run(join(ROOT, "node_modules/.bin/tsc"), options, { cwd: folder });
  const { stdout } = await compiled.catch((error: unknown) => z.object({ stdout: z.string() }).parse(error));
  const named = stdout.matchAll(new RegExp(`^([^\\s(]+)\\(.*error ${code}`, "gm"));
  return [...new Set(Array.from(named, ([, file = ""]) => file))].toSorted();
}

const PROGRAM = `
import { startSimulator } from "./simulator/index.ts";
import { createServer } from "node:http";
const bodies = [];
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece)).on("end", () => { bodies.push(JSON.parse(body)); response.end(); });
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
await using simulator = await startSimulator({ calls: 3, seed: 1 });
const endpoint = simulator.endpoints.add({ url: "http://127.0.0.1:" + receiver.address().port + "/", eventTypes: ["call.missed"] });
const { events: [event], deliveries: [delivery] } = await simulator.emit("call.missed", { object: { phone: "+12125550110" } });
await simulator.emit("call.completed");
const json = async (path, headers) => (await fetch(simulator.url + path, { headers })).json();
const calls = await json("/api/v1/calls?limit=5", { authorization: "Bearer va_test_restaurant" });
const row = await json("/control/deliveries/" + delivery.id);
const types = await json("/control/event-types");
console.log(JSON.stringify({
  received: bodies.map(({ type }) => type),
  inRest: calls.data.some(({ id }) => id === event.data.object.id),
  state: delivery.state, summary: row.summary, verdict: row.verdict.result,
  offered: types.data.some(({ type, emitted_when, example }) => type === "call.missed" && emitted_when && example.object === "call"),
  kind: event.data.object.object,
}));
receiver.close();
`;

test("a sixth event type goes the whole way: world, REST, webhook, the dashboard's row, verify, the receiver", async () => {
  const folder = copyWith(ENTRIES);
  expect(await typeErrors(folder, "TS\\d+")).toEqual([]);
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  const { stdout } = await run(process.execPath, ["program.ts"], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual({
    received: ["call.missed"],
    inRest: true,
    state: "delivered",
    summary: "+12125550110 was missed",
    verdict: "ok",
    offered: true,
    kind: "call",
  });

  mkdirSync(join(folder, "data"));
  const [port, adminPort] = [await freePort(), await freePort()];
  const words = `verify --url http://127.0.0.1:${port}/webhooks --only acknowledgement.call-missed --json --`;
  const program = [process.execPath, "receiver/main.mjs"];
  const { stdout: report } = await run(
    process.execPath,
    ["simulator/main.ts", ...words.split(" "), ...program],
    {
      cwd: folder,
      env: { ...process.env, ADMIN_PORT: String(adminPort), DATABASE_URL: "sqlite:data/receiver.db" },
    },
  );
  const { checks } = z
    .looseObject({ checks: z.array(z.looseObject({ id: z.string(), outcome: z.string() })) })
    .parse(JSON.parse(report));
  expect(checks).toContainEqual(
    expect.objectContaining({ id: "acknowledgement.call-missed", outcome: "passed" }),
  );
});

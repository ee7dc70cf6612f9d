import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { readBoundedFile } from "../../../simulator/files/bounded-file.ts";
import { openStateFile } from "../../../simulator/replay/state-file.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { listen } from "../../helpers/listen.ts";
import { run as runProcess } from "../../helpers/process.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

const TARGET = ["--to", "http://127.0.0.1:9/", "--secret", "whsec_test"];
const DEEP = `{"id":"x","deep":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;

/** Files that cannot be replayed, and their messages. */
const SOURCES: [what: string, make: (folder: string) => string, says: RegExp][] = [
  ["a device without an end", () => "/dev/zero", /is a folder or a device, not a file/],
  ["a folder", (folder) => folder, /is a folder or a device, not a file/],
  [
    "a document beyond any size",
    (folder) => {
      const file = join(folder, "large.json");
      writeFileSync(file, "[");
      truncateSync(file, 65 * 1024 * 1024);
      return file;
    },
    /larger than 65536 KiB; as JSON lines/,
  ],
  [
    "a line without an end",
    (folder) => {
      const file = join(folder, "long.jsonl");
      writeFileSync(file, "");
      truncateSync(file, 200 * 1024 * 1024);
      return file;
    },
    /:1: this line is longer than 4 MiB/,
  ],
  ["a cut document", (folder) => written(join(folder, "cut.json"), '{\n "id": "e'), /is not JSON \(.*line 2/],
  ["an empty document", (folder) => written(join(folder, "empty.json"), "\n"), /contains no envelope/],
  ["a deep document", (folder) => written(join(folder, "deep.json"), DEEP), /nested deeper than 64 levels/],
  ["a deep line", (folder) => written(join(folder, "deep.jsonl"), DEEP), /:1: .*nested deeper than 64/],
];

/** As editors on Windows write it. */
function utf16(file: string): string {
  writeFileSync(file, Buffer.from("\ufeff{}", "utf16le"));
  return file;
}

function written(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}

test.each(SOURCES)("replay refuses %s", async (_what, make, says) => {
  const { code, err } = await run("replay", make(temporaryDirectory()), ...TARGET);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(says) });
});

test.skipIf(!existsSync("/proc/self/mem")).each(["broken.json", "broken.jsonl"])(
  "replay says why %s cannot be read",
  async (name) => {
    const file = join(temporaryDirectory(), name);
    symlinkSync("/proc/self/mem", file);
    const { code, err } = await run("replay", file, ...TARGET);
    expect({ code, err }).toEqual({ code: 2, err: `${file} cannot be read: reading failed (EIO).\n` });
  },
);

test("a file may be as large as its limit, and not a byte larger", () => {
  const file = join(temporaryDirectory(), "body.json");
  writeFileSync(file, "x".repeat(1_024));
  expect(readBoundedFile(file, 1_024)).toMatchObject({ ok: true, bytes: { length: 1_024 } });
  expect(readBoundedFile(file, 1_023)).toMatchObject({ ok: false, reason: "it is larger than 1 KiB" });
});

test("JSON lines with empty lines, and without a final line break, are read to the end", async () => {
  const receiver = await startEndpoint();
  const line = (digit: string) =>
    JSON.stringify(sampleEnvelope("call.completed", { id: `evt_${digit.repeat(32)}` }));
  const file = join(temporaryDirectory(), "some.json");
  writeFileSync(file, `\ufeff${line("1")}\r\n\n   \n${line("2")}`);
  const { code } = await run("replay", file, "--to", receiver.url, "--secret", "whsec_test");
  expect(code).toBe(0);
  expect(receiver.received).toHaveLength(2);
});

test.each<[string, (folder: string) => string, RegExp]>([
  ["a device without an end", () => "/dev/zero", /it is a device/],
  ["UTF-16", (folder) => utf16(join(folder, "wide.json")), /is UTF-16 text: save it as UTF-8/],
  ["a folder", (folder) => folder, /it is a directory/],
  ["a deep one", (folder) => written(join(folder, "deep.json"), DEEP), /nested deeper than 64 levels/],
])("a scenario file is refused: %s", async (_what, make, says) => {
  const { code, err } = await run("serve", "--port", "0", "--scenario", make(temporaryDirectory()));
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(says) });
});

const replay = { sources: ["a.jsonl"], total: 3 };
const progress = { done: 1, sent: 1, acknowledged: 1, outcomes: {}, failures: [] };

test("the state of a replay is neither written nor read through a link", () => {
  const folder = temporaryDirectory();
  const victim = written(join(folder, "victim"), "precious");
  const path = join(folder, "state");
  symlinkSync(victim, `${path}.new`);
  const opened = openStateFile(path, replay);
  if (!opened.ok) throw new Error(opened.message);
  opened.state.save(progress);
  expect(readFileSync(victim, "utf8")).toBe("precious");
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ done: 1 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(openStateFile(path, replay)).toMatchObject({ ok: true, progress: { done: 1 } });
  for (const other of [{ total: replay.total + 1 }, { sources: [...replay.sources, "call.completed"] }])
    expect(openStateFile(path, { ...replay, ...other })).toMatchObject({
      ok: false,
      message: expect.stringContaining("belongs to a replay of"),
    });
  // One that has sent nothing yet may become another.
  opened.state.save({ ...progress, done: 0 });
  expect(openStateFile(path, { ...replay, total: 9 })).toMatchObject({ ok: true });
  const link = join(folder, "link");
  symlinkSync(path, link);
  expect(openStateFile(link, replay)).toMatchObject({ ok: false });
  symlinkSync(join(folder, "nowhere"), join(folder, "dangling"));
  expect(openStateFile(join(folder, "dangling"), replay)).toMatchObject({ ok: false });
  expect(existsSync(join(folder, "nowhere"))).toBe(false);
});

test("a replay keeps its last state if writing the next one is cut off", () => {
  const path = join(temporaryDirectory(), "state");
  const opened = openStateFile(path, replay);
  if (!opened.ok) throw new Error(opened.message);
  opened.state.save(progress);
  const failures = Array.from({ length: 100 }, (_, index) => ({ eventId: `evt_${index}`, outcome: 500 }));
  // As on a full disk: no file may grow beyond 1 KiB.
  const save = `import(${JSON.stringify(new URL("../../../simulator/replay/state-file.ts", import.meta.url).href)})
      .then(({ openStateFile }) => openStateFile(${JSON.stringify(path)}, ${JSON.stringify(replay)}))
      .then(({ state }) => state.save(${JSON.stringify({ ...progress, done: 2, failures })}))`;
  const cutOff = spawnSync("bash", ["-c", 'ulimit -f 1; exec "$@"', "-", process.execPath, "-e", save]);
  expect(cutOff.stderr.toString()).toContain("EFBIG");
  expect(openStateFile(path, replay)).toMatchObject({ ok: true, progress });
});

test.each<[string, (folder: string) => string]>([
  ["a device without an end", () => "/dev/zero"],
  [
    "a folder",
    (folder) => {
      mkdirSync(join(folder, "state"));
      return join(folder, "state");
    },
  ],
  ["a file of megabytes", (folder) => written(join(folder, "state"), " ".repeat(2 * 1024 * 1024))],
])("the state of a replay is refused where it is %s", (_what, make) => {
  expect(openStateFile(make(temporaryDirectory()), replay)).toMatchObject({
    ok: false,
    message: expect.stringContaining("is not the state file of a replay"),
  });
});

test("the command stops reading an endless answer of a simulator", async () => {
  const piece = Buffer.alloc(1024 * 1024, "x");
  const server = createServer((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on("drain", more);
    more();
  });
  const { url } = await listen(server);
  const { code, err } = await run("events", "--simulator", url);
  expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining("longer than 64 MiB") });
});

test("verify refuses a secret that is a pipe, where it would wait for a writer and hear no signal", async () => {
  const pipe = join(temporaryDirectory(), "secret");
  execFileSync("mkfifo", [pipe]);
  const verify = runProcess("simulator/main.ts", ["verify", "http://127.0.0.1:9/", "--secret", `@${pipe}`]);
  expect(await verify.exited).toEqual({ code: 2, signal: null });
  expect(verify.errors.join("\n")).toContain("it is a pipe");
});

test("a pipe of the shell is read", () => {
  const sign = `node simulator/main.ts sign --secret whsec_test --json <(sleep 0.1; echo '{"id":1}')`;
  const shell = spawnSync("bash", ["-c", sign.replace("node ", `${process.execPath} `)], {
    encoding: "utf8",
  });
  expect({ status: shell.status, stderr: shell.stderr }).toEqual({ status: 0, stderr: "" });
});

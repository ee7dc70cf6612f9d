import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { forkFiles } from "../../tools/fork/files.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { get, idOf, newBody, post } from "../receiver/helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../receiver/helpers/process.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { until } from "../receiver/helpers/until.ts";
import { ROOT } from "../repository/files.ts";

/** Handlers as users write them, in their own project. */

let fork: string;
beforeEach(() => {
  fork = temporaryDirectory();
  for (const [path, text] of forkFiles(ROOT, "my-receiver", { library: false, postgres: false }))
    write(path, text);
  symlinkSync(join(ROOT, "node_modules"), join(fork, "node_modules"));
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(fork, path)), { recursive: true });
  writeFileSync(join(fork, path), text);
}

/** A module with one handler whose function has this `body`. */
function handlerOf(body: string, before = ""): string {
  return `import { defineHandler } from "../work/handler.ts";
${before}
export const handlers = [
  defineHandler({ name: "try", type: "call.completed", handle: async (event, { log }) => { ${body} } }),
];
`;
}

const DATABASE = { DATABASE_URL: "sqlite:receiver.db" };

const start = (environment: Record<string, string> = {}) =>
  startProcess({ entry: "receiver/main.mjs", cwd: fork, environment: { ...DATABASE, ...environment } });

/** Runs a script of the fork to its end. */
const runScript = (words: string, environment: Record<string, string> = {}) =>
  spawnSync(process.execPath, words.split(" "), {
    cwd: fork,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], NO_COLOR: "1", ...environment },
  });

async function send({ url }: ReceiverProcess): Promise<string> {
  const body = newBody();
  expect((await post(url, body)).status).toBe(200);
  return idOf(body);
}

/** Waits until an event is done; by default a new one. */
async function isDone(receiver: ReceiverProcess, id?: string): Promise<void> {
  const path = `/inbox/${id ?? (await send(receiver))}`;
  await until(async () => (await (await get(receiver.adminUrl + path)).text()).includes('"state":"done"'));
}

const said = ({ lines }: ReceiverProcess, text: string): string[] =>
  lines.filter((line) => line.includes(text));

/** The only line with this text. Log lines come a moment after what they report. */
async function saidOnce(receiver: ReceiverProcess, text: string): Promise<string> {
  await until(() => said(receiver, text).length > 0);
  expect(said(receiver, text)).toHaveLength(1);
  return said(receiver, text)[0] ?? "";
}

test(
  "hold an enum, a decorator, a parameter property, an alias and a shared pool",
  { timeout: 180_000 },
  async () => {
    const options = readFileSync(join(fork, "tsconfig.json"), "utf8");
    write(
      "tsconfig.json",
      options.replace(
        '"strict": true,',
        '"strict": true, "experimentalDecorators": true, "paths": { "@lib/*": ["./src/lib/*"] },',
      ),
    );
    write("src/lib/sizes.ts", `export enum Size { Small = "small", Large = "large" }\n`);
    write(
      "receiver/handlers/services.ts",
      `import { appendFileSync } from "node:fs";
import { Size } from "@lib/sizes.ts";
import { handlersWith } from "../work/handler.ts";

function shouting(_target: object, _name: string, property: TypedPropertyDescriptor<() => string>): void {
  const { value } = property;
  property.value = function (this: object) { return (value?.call(this) ?? "").toUpperCase(); };
}

class Pool {
  constructor(private readonly size: Size) {}
  @shouting
  name(): string { return this.size; }
  end(): void { appendFileSync("closed.txt", "x"); }
}

export async function createServices() {
  appendFileSync("made.txt", "x");
  const pool = new Pool(Size.Large);
  const close = (): void => {
    pool.end();
    throw new Error("closed twice");
  };
  return { services: { pool }, close };
}

export const defineHandler = handlersWith<typeof createServices>();
`,
    );
    write(
      "receiver/handlers/index.ts",
      `import { Size } from "@lib/sizes.ts";
import { createServices, defineHandler } from "./services.ts";

export { createServices };
export const sized = defineHandler({
  name: "size",
  type: ["call.completed", "call.transferred"],
  handle: async (event, { services: { pool }, log }) => {
    log.info({ size: pool.name(), small: Size.Small, outcome: event.data.object.outcome }, "sized");
  },
});
export const handlers = [sized];
`,
    );
    write(
      "test/receiver/handlers/sized.test.ts",
      `import { expect, test } from "vitest";
import { createServices, sized } from "../../../receiver/handlers/index.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

test("says how large it is", async () => {
  const { services } = await createServices();
  const { run, logs } = await bench(sized, { services });
  expect(await run(sampleEnvelope("call.completed"))).toEqual({ outcome: "done", attempt: 1 });
  expect(logs).toMatchObject([{ msg: "sized", size: "LARGE", small: "small" }]);
});
`,
    );
    // By its own checks.
    expect(runScript("node_modules/typescript/bin/tsc --noEmit").stdout).toBe("");
    const tested = runScript("node_modules/vitest/vitest.mjs run test/receiver/handlers/sized.test.ts");
    expect(tested.stdout + tested.stderr).toContain("1 passed");

    writeFileSync(join(fork, "made.txt"), "");
    const receiver = await start({ HOME: "/nowhere" });
    await isDone(receiver);
    const sized: unknown = JSON.parse(await saidOnce(receiver, '"sized"'));
    expect(sized).toMatchObject({ handler: "size", size: "LARGE", small: "small", outcome: "completed" });
    await isDone(receiver);
    expect(readFileSync(join(fork, "made.txt"), "utf8")).toBe("x");
    expect(existsSync(join(fork, "closed.txt"))).toBe(false);
    receiver.child.kill("SIGTERM");
    expect(await receiver.exited).toEqual({ code: 0, signal: null });
    expect(readFileSync(join(fork, "closed.txt"), "utf8")).toBe("x");
    await saidOnce(receiver, "closing services failed");
  },
);

test("read the variables of .env when they are loaded, but not the secret", async () => {
  write(".env", "CRM_TOKEN=from-the-file\nSIGNING_SECRET=overridden\n");
  write(
    "receiver/handlers/index.ts",
    handlerOf(
      "log.info({ crm }, 'read')",
      `const crm = [process.env["CRM_TOKEN"], process.env["SIGNING_SECRET"]].join();`,
    ),
  );
  const receiver = await start();
  await isDone(receiver);
  expect(await saidOnce(receiver, '"read"')).toContain('"crm":"from-the-file,"');
});

/** Each with its message; the first two in `npm test`. */
const UNUSABLE: readonly (readonly [name: string, source: string, problem: RegExp])[] = [
  [
    "for a name that two of them have",
    `import { other } from "./other.ts";\nexport const handlers = [other, { ...other }];\n`,
    /Two handlers are called "crm"\. Rename one of them/,
  ],
  [
    "for services that cannot be made",
    handlerOf("", `export async function createServices() {\n  throw new TypeError("no pool");\n}`),
    /TypeError: no pool \(receiver\/handlers\/index\.ts:3:\d+\)/,
  ],
  [
    "for a mistake in the text",
    "export const handlers = [\n  }\n];\n",
    /receiver\/handlers\/index\.ts:2:\d+: ERROR: Unexpected/,
  ],
  [
    "for an error at the top",
    `enum E { A }\ninterface Text {}\n\nthrow new Error("CRM_TOKEN is missing" + E.A);\n`,
    /Error: CRM_TOKEN is missing0 \(receiver\/handlers\/index\.ts:4:\d+\)/,
  ],
  [
    "for an error that comes later, of a client",
    handlerOf(
      "",
      `setTimeout(() => { throw new Error("ECONNREFUSED"); }, 20);\nawait new Promise((r) => setTimeout(r, 3_000));`,
    ),
    /Error: ECONNREFUSED \(receiver\/handlers\/index\.ts:2:\d+\)/,
  ],
  ["for want of a list", "export const handler = 1;\n", /receiver\/handlers\/index\.ts: .*must be an export/],
];

describe("that cannot be used", () => {
  test.for(UNUSABLE.slice(0, ALL ? undefined : 2))(
    "%s are reported once, with file and line, while events are still accepted",
    async ([, source, problem]) => {
      write(
        "receiver/handlers/other.ts",
        `import { defineHandler } from "../work/handler.ts";
export const other = defineHandler({ name: "crm", type: "*", handle: async () => undefined });\n`,
      );
      write("receiver/handlers/index.ts", source);
      const receiver = await start();
      const line = await saidOnce(receiver, "the handlers cannot be started");
      const id = await send(receiver);
      expect((JSON.parse(line) as { problem: string }).problem).toMatch(problem);
      // It retries without another log line, and succeeds once they can be loaded.
      write("receiver/handlers/index.ts", handlerOf(""));
      await isDone(receiver, id);
      expect(said(receiver, "the handlers cannot be started")).toHaveLength(1);
      expect((await get(new URL("/readyz", receiver.url))).status).toBe(200);
    },
  );
});

test("are imported by no command", async () => {
  write("receiver/handlers/index.ts", handlerOf(""));
  const receiver = await start();
  await isDone(receiver);
  write(
    "receiver/handlers/index.ts",
    `import { writeFileSync } from "node:fs";\nwriteFileSync("imported.txt", "");\nexport enum E { A }\n`,
  );
  const listed = runScript("receiver/main.mjs inbox list", DATABASE);
  expect(listed).toMatchObject({ status: 0, stdout: expect.stringContaining("done") });
  expect(existsSync(join(fork, "imported.txt"))).toBe(false);
});

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { type Kind, KINDS, type KindName } from "../../../simulator/create/kinds.ts";
import { nextSteps, projectFiles } from "../../../simulator/create/project.ts";
import { parseSimulator } from "../../docs/our-commands.ts";
import { shellCommands } from "../../docs/shell.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { ROOT } from "../../repository/files.ts";
import { run } from "../commands/in-process.ts";

const NAMES = Object.keys(KINDS) as KindName[];
const sources = {
  examples: pathToFileURL(`${ROOT}examples/`),
  manifest: pathToFileURL(`${ROOT}package.json`),
};
const made = (name: KindName) => projectFiles(name, { project: "calls", secret: "whsec_made", sources });
const textOf = (name: KindName, path: string): string => made(name).get(path)?.text ?? "";
const job = z.object({ webhooks: z.object({ image: z.string(), script: z.array(z.string()) }) });
const workflow = z.object({
  jobs: z.object({ webhooks: z.object({ steps: z.array(z.object({ run: z.string().optional() })) }) }),
});
const manifest = z.looseObject({
  scripts: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
});

describe.each(NAMES)("create --%s", (name) => {
  test("runs verify on GitHub, on GitLab and in any shell, with existing commands", async () => {
    const github = workflow.parse(parse(textOf(name, ".github/workflows/webhooks.yml")));
    const steps = github.jobs.webhooks.steps.flatMap(({ run: line }) => line ?? []);
    const gitlab = job.parse(parse(textOf(name, ".gitlab-ci.yml"))).webhooks.script;
    const last = steps.at(-1) ?? "";
    expect(gitlab.at(-1)).toBe(last);
    const { debian = "", github: install = "" }: Kind = KINDS[name];
    expect([gitlab.join("\n"), steps.join("\n")]).toEqual([
      expect.stringContaining(debian),
      expect.stringContaining(install),
    ]);
    expect(textOf(name, "README.md")).toContain(last);

    const scripts = made(name).has("package.json")
      ? manifest.parse(JSON.parse(textOf(name, "package.json"))).scripts
      : { dev: textOf(name, "dev"), verify: textOf(name, "verify") };
    expect(last).toMatch(/^(?:npm run |\.\/)verify$/);
    const observed = "--url /webhooks --observe /handled/{id}";
    expect(scripts["dev"]).toContain(`dev ${observed}`);
    expect(scripts["verify"]).toContain(`verify --level must ${observed} --fail-on unverified`);
    expect([...made(name)].some(([path, { text }]) => `${path}\n${text}`.includes("handled/"))).toBe(true);
    for (const script of [scripts["dev"] ?? "", scripts["verify"] ?? ""]) {
      const line = script
        .split("\n")
        .slice(script.startsWith("#!") ? 2 : 0)
        .filter((one) => !one.startsWith("node="))
        .join("\n")
        .replace("exec ", "");
      const ours = shellCommands(line).filter(({ words }) => words.includes("voice-agent-simulator"));
      expect(ours).toHaveLength(1);
      const words = ours[0]?.words ?? [];
      const after = words.slice(words.indexOf("voice-agent-simulator") + 1).filter((word) => word !== "$@");
      expect(await parseSimulator(after)).toBeUndefined();
    }
  });

  test("keeps its secret out of the repository, and prints the steps of its README", () => {
    expect(textOf(name, ".env")).toContain("SIGNING_SECRET=whsec_made");
    expect(textOf(name, ".gitignore").split("\n")).toContain(".env");
    const others = [...made(name)].filter(
      ([path, { text }]) => path !== ".env" && text.includes("whsec_made"),
    );
    expect(others).toEqual([]);
    for (const step of nextSteps(name))
      expect(textOf(name, "README.md")).toMatch(new RegExp(`^${step.replace(".", "\\.")} +# `, "m"));
  });

  test("as an app of Node.js: its versions, its development and its tests", () => {
    if (!made(name).has("package.json")) return;
    const { dependencies, scripts } = manifest.parse(JSON.parse(textOf(name, "package.json")));
    for (const [one, version] of Object.entries(dependencies)) {
      expect(version).toMatch(
        one === "voice-agent-webhook-kit" ? /^file:voice-agent-webhook-kit-\d\S+\.tgz$/ : /^\d+\.\d+\.\d+$/,
      );
    }
    expect(scripts["dev"]).toMatch(
      name === "next" ? /next dev/ : / -- node --watch --env-file-if-exists=\.env app\.mjs$/,
    );
    const begin = name === "next" ? /^next build && voice/ : /^voice/;
    expect(scripts).toMatchObject({ test: "node --test", verify: expect.stringMatching(begin) });
    for (const job of [".github/workflows/webhooks.yml", ".gitlab-ci.yml"])
      expect(textOf(name, job)).toContain("npm test");
  });

  test("brings a Node.js for its scripts only if the machine's is too old, as the kit does itself", () => {
    const options = { project: "calls", secret: "whsec_made", sources, nodeIsTooOld: true };
    const own = projectFiles(name, options).get("package.json")?.text;
    expect(textOf(name, "package.json")).not.toContain("optionalDependencies");
    expect(made(name).has(".npmrc")).toBe(false);
    if (own === undefined) return;
    // npm would warn about each package.
    expect(projectFiles(name, options).get(".npmrc")?.text).toBe("loglevel=error\n");
    const bringing = z.looseObject({ optionalDependencies: z.record(z.string(), z.string()) });
    expect(bringing.parse(JSON.parse(own)).optionalDependencies).toEqual(
      bringing.parse(JSON.parse(readFileSync(`${ROOT}tools/node/package.json`, "utf8"))).optionalDependencies,
    );
  });

  test("its scripts are valid shell", () => {
    for (const [, { text, executable }] of made(name)) {
      if (executable !== true) continue;
      const { status, stderr } = spawnSync("sh", ["-n"], { input: text, encoding: "utf8" });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    }
  });
});

/** What `./dev` passes to npx on a machine with this version of Node.js. */
function brought(name: KindName, version: string): string {
  const [folder, bin] = [temporaryDirectory(), temporaryDirectory()];
  const old = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
  writeFileSync(join(bin, "old.cjs"), old);
  const node = `#!/bin/sh\nexec "${process.execPath}" --require "${join(bin, "old.cjs")}" "$@"\n`;
  writeFileSync(join(bin, "node"), node, { mode: 0o755 });
  writeFileSync(join(bin, "npx"), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  writeFileSync(join(folder, "dev"), textOf(name, "dev"));
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  return spawnSync("sh", ["dev"], { cwd: folder, env, encoding: "utf8" }).stdout;
}

test.each(["python", "go", "php", "ruby"] as const)(
  "--%s brings a Node.js for programs run by npx",
  (name) => {
    expect(brought(name, "20.20.2")).toContain(`--package=node-${process.platform}-${process.arch}@24.`);
    expect(brought(name, "24.0.0")).not.toContain("--package=node-");
  },
);

describe("create", () => {
  test.each([
    [["x"], "Choose one of --express, "],
    [["x", "--go", "--php"], "Choose one of --express, "],
    [["x", "--rust"], "unknown option '--rust'"],
    [["--go"], "missing required argument 'folder'"],
    [["{dir}/none/x", "--go"], "create it first"],
    [["{dir}", "--go"], "is not empty (it has mine.txt)"],
    [["{dir}/mine.txt", "--go"], "mine.txt is a file: name a new"],
  ])("%j is wrong usage, and makes nothing", async (words, message) => {
    const full = temporaryDirectory();
    writeFileSync(join(full, "mine.txt"), "mine");
    const { code, out, err } = await run("create", ...words.map((word) => word.replace("{dir}", full)));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
    expect(existsSync("x")).toBe(false);
  });
});

describe("create, with an npm that packs nothing", () => {
  /** Runs it in a folder of its own; `asked` is what npm was asked to do. */
  async function create(...words: string[]) {
    const parent = temporaryDirectory();
    const [npm, log] = [join(parent, "npm.cjs"), join(parent, "asked.txt")];
    const said = `require("node:fs").appendFileSync(${JSON.stringify(log)}, process.argv.slice(2).join(" ") + "\\n");`;
    const fails =
      'if (process.argv[2] === process.env.NPM_FAILS) { console.error("no space left"); process.exit(1); }';
    writeFileSync(npm, said + fails);
    writeFileSync(join(parent, "node"), "#!/bin/sh\necho v18.20.0\n", { mode: 0o755 });
    vi.stubEnv("npm_execpath", npm);
    vi.stubEnv("PATH", `${parent}:${process.env["PATH"]}`);
    const here = vi.spyOn(process, "cwd").mockReturnValue(parent);
    onTestFinished(() => (here.mockRestore(), void vi.unstubAllEnvs()));
    const ran = await run("create", "My Calls", ...words);
    const target = join(parent, "My Calls");
    const read = (path: string) => readFileSync(join(target, path), "utf8");
    return { ran, target, read, asked: () => readFileSync(log, "utf8").trim().split("\n") };
  }

  test.each(["go", "express"] as const)(
    "--%s writes every file, and the archive beside them",
    async (name) => {
      const { ran, target, read, asked } = await create(`--${name}`);
      expect(ran.code).toBe(0);
      expect(ran.out).toBe(`Made ${target}: ${KINDS[name].title}.\n`);
      expect(ran.err).toBe(
        `\nNext:\n  cd 'My Calls'\n${nextSteps(name)
          .map((step) => `  ${step}\n`)
          .join("")}`,
      );
      expect(asked()).toEqual(["run --silent build", `pack --silent --pack-destination ${target}`]);
      const secret = /^SIGNING_SECRET=(whsec_[0-9a-f]{48})$/m.exec(read(".env"))?.[1] ?? "";
      const wanted = projectFiles(name, { project: "my-calls", secret, sources, nodeIsTooOld: true });
      for (const [path, { text, executable }] of wanted) {
        expect(read(path), path).toBe(text);
        const mode = path === ".env" ? 0o600 : executable === true ? 0o755 : 0o644;
        expect(statSync(join(target, path)).mode & 0o777, path).toBe(mode);
      }
    },
  );

  test("as JSON: its folder, files and next steps", async () => {
    const { ran, target } = await create("--php", "--json");
    const next = ["cd 'My Calls'", ...nextSteps("php")];
    const files = [...made("php").keys()];
    expect(ran.json()).toEqual({ object: "project", kind: "php", folder: target, files, next });
  });

  test.each(["run", "pack"])("says why if npm cannot %s, and is no success", async (verb) => {
    vi.stubEnv("NPM_FAILS", verb);
    const { ran, target } = await create("--go");
    expect({ code: ran.code, err: ran.err }).toEqual({
      code: 3,
      err: `npm could not pack the kit into ${target}: no space left\n`,
    });
    expect(existsSync(join(target, ".env"))).toBe(false);
  });
});

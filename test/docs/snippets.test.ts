import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { filesOf, ROOT } from "../repository/files.ts";
import { parseReceiver, parseSimulator, type Parser } from "./our-commands.ts";
import { blocksOf, PAGES, type Block } from "./pages.ts";
import { shellCommands, type ShellCommand } from "./shell.ts";

/**
 * Shell, JSON and YAML in the documentation: bash parses the shell, and our own parsers check the arguments of our
 * programs. Code in other languages is run by other tests.
 */

/** Third-party programs in the documentation; a name that is not here is probably a typo. */
const OTHERS = new Set(
  "cat cd cp cut curl date docker env exec gh git gunicorn install java mkdir node npm npx openssl printf python3 ruby sh sudo systemctl go useradd uvicorn".split(
    " ",
  ),
);

const blocks = [...PAGES.keys()].filter((path) => path !== "CHANGELOG.md").flatMap((path) => blocksOf(path));
const place = ({ page, line }: Block): string => `${page}:${String(line)}`;
const ofLanguage = (...languages: string[]): Block[] =>
  blocks.filter(({ language }) => languages.includes(language));
const scripts = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(filesOf(/^package\.json$/).get("package.json") ?? "{}")).scripts;

test.each(ofLanguage("json").map((block) => [place(block), block] as const))("%s is JSON", (_, { text }) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
});

describe("shell", () => {
  const shell = ofLanguage("sh").map((block) => ({ where: place(block), text: block.text }));
  const inline = [...PAGES].flatMap(([where, page]) =>
    [...page.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/`([^`]+)`/g)]
      .map(([, text = ""]) => ({ where, text: text.replaceAll("\n", " ") }))
      .filter(({ text }) => /^(?:npm run (?:simulator|receiver|fork) -- |voice-agent-\w+ )/.test(text))
      // A usage line, in which capitals are placeholders.
      .filter(({ text }) => !/…|\b[A-Z]{3,}\b/.test(text) && text.split(" ").length > 2),
  );

  test("is valid for bash", () => {
    const script = shell.map(({ text }, index) => `f${String(index)}() {\n${text}\n}`).join("\n");
    const { status, stderr } = spawnSync("bash", ["-n"], { input: script, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("names existing commands, options and files", async () => {
    const wrong: string[] = [];
    for (const { where, text } of [...shell, ...inline]) {
      for (const command of shellCommands(text)) {
        const problem = await problemWith(command);
        if (problem !== undefined) wrong.push(`${where}: ${command.words.join(" ")}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(inline.length).toBeGreaterThan(5);
  });

  test.each([
    ["npm run simulator -- trigger call.completed --foult duplicate", "unknown option '--foult'"],
    ["npm run simulator -- tirgger call.completed", "no command tirgger"],
    ["voice-agent-simulator endpoints rotat ep_1", "unknown command 'rotat'"],
    ["voice-agent-simulator clock advance 5 minutes", "too many arguments"],
    ["A=1 voice-agent-simulator verify --levle must -- npm start", "unknown option '--levle'"],
    ["echo | sudo -u x npm run receiver -- inbox lst", "unknown command 'lst'"],
    ["npm run receiver -- reconcile --since yesterday", "Give a duration"],
    ["npx --yes --package x voice-agent-simulator verify --level most", "'most'"],
    ["npm run strat", "no script strat"],
    ["V=$(nmp run x)", "no program nmp"],
    ["node examples/receivers/exprss.ts", "no file"],
  ])("would not let through: %s", async (line, problem) => {
    const problems = await Promise.all(shellCommands(line).map(problemWith));
    expect(problems.filter((one) => one !== undefined).join("\n")).toContain(problem);
  });
});

describe("yaml", () => {
  const inputs = z
    .object({ inputs: z.record(z.string(), z.unknown()) })
    .parse(parse(filesOf(/^action\.yml$/).get("action.yml") ?? "")).inputs;

  test.each(ofLanguage("yaml").map((block) => [place(block), block] as const))(
    "%s gives our action what it takes, and its scripts are shell",
    async (_, { text }) => {
      const lines: string[] = [];
      const problems: (string | undefined)[] = [];
      walk(parse(text), (name, value, parent) => {
        if (name === "uses" && String(value).includes("voice-agent-webhook-kit")) {
          const { with: given } = z.object({ with: z.record(z.string(), z.unknown()) }).parse(parent);
          problems.push(...Object.keys(given).filter((key) => !(key in inputs)));
        }
        if (name === "run") lines.push(String(value).replaceAll(/\$\{\{.*?\}\}/g, "1"));
        if (name === "script") lines.push(...z.array(z.string()).parse(value));
      });
      problems.push(...(await Promise.all(lines.flatMap(shellCommands).map(problemWith))));
      expect(problems.filter((one) => one !== undefined)).toEqual([]);
    },
  );
});

/** The errors of a documented command that can be found without running it. */
async function problemWith({ words }: ShellCommand): Promise<string | undefined> {
  const [program = "", ...rest] = words;
  if (program === "sudo" && rest[0] === "-u") return problemWith({ variables: [], words: rest.slice(2) });
  if (program === "sudo") return problemWith({ variables: [], words: rest });
  if (program === "env") {
    return problemWith({ variables: [], words: rest.slice(rest.findIndex((word) => !word.includes("="))) });
  }
  const parser = parserOf(words);
  if (parser !== undefined) return parser.problem(parser.words);
  if (program === "npm" && rest[0] === "run")
    return rest[1] !== undefined && rest[1] in scripts ? undefined : `no script ${rest[1] ?? ""}`;
  if (program.startsWith("./") || program === "echo") return undefined;
  if (!OTHERS.has(program)) return `no program ${program}`;
  const missing = rest.find((word) => word.startsWith("examples/") && !existsSync(ROOT + word));
  return missing === undefined ? undefined : `no file ${missing}`;
}

/** Which of our parsers takes the arguments, and from which one on. */
function parserOf(words: string[]): { problem: Parser; words: string[] } | undefined {
  const line = words.join(" ");
  const after = (count: number): string[] => words.slice(words[count] === "--" ? count + 1 : count);
  if (line.startsWith("npm run simulator ")) return { problem: parseSimulator, words: after(3) };
  if (line.startsWith("npm start -- ")) return { problem: parseSimulator, words: ["dev", ...after(2)] };
  if (/^npm run receiver(?: |$)/.test(line)) return { problem: parseReceiver, words: after(3) };
  const simulator = words.indexOf("voice-agent-simulator");
  const packed = words.findIndex((word) => /^file:\S+\.tgz$/.test(word));
  if (words[0] === "npx" && simulator === -1 && packed > 0)
    return { problem: parseSimulator, words: words.slice(packed + 1) };
  if (simulator === 0 || words[0] === "npx")
    return { problem: parseSimulator, words: words.slice(simulator + 1) };
  if (words[0] === "voice-agent-receiver") return { problem: parseReceiver, words: words.slice(1) };
  const inContainer = words.indexOf("receiver/main.mjs");
  return inContainer === -1 ? undefined : { problem: parseReceiver, words: words.slice(inContainer + 1) };
}

/** Calls `visit` with every key of a value, however deep. */
function walk(value: unknown, visit: (name: string, value: unknown, parent: object) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    visit(name, inner, value);
    walk(inner, visit);
  }
}

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { Handler } from "../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { bench } from "./helpers/bench.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** What an attentive reader manages of code. */
const LINES_A_MINUTE = 25;

test("the tour of twenty minutes takes no longer, and every file on it is there", () => {
  const [, tour = "", rest = ""] = read("receiver/README.md").split(/^## (?:A tour|The rest).*$/m);
  const stops = [...tour.matchAll(/^\d\. `([^`]+)`/gm)].map(([, file = ""]) => file);
  expect(stops).toHaveLength(6);
  // Of the port only what stands above its first export.
  const lines = stops.map((file) => {
    const text = read(`receiver/${file}`);
    return (file === "engine.ts" ? text.slice(0, text.indexOf("export")) : text).split("\n").length;
  });
  expect(lines.reduce((sum, count) => sum + count, 0) / LINES_A_MINUTE).toBeLessThanOrEqual(20);
  const named = [...rest.split("## ")[0]!.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, file = ""]) => file);
  expect(named.length).toBeGreaterThan(15);
  const files = readdirSync(join(root, "receiver"), { recursive: true, encoding: "utf8" });
  const there = [...files, "shared/signature.ts"].map((path) => `/${path}`);
  expect(named.filter((file) => !there.some((path) => path.endsWith(`/${file}`)))).toEqual([]);
});

describe("docs/operations.md", () => {
  // The formatter aligns tables; what they say is what counts.
  const page = read("docs/operations.md").replaceAll(/ +/g, " ");

  test("names every setting with its default, and no other", () => {
    const source = read("receiver/config.ts");
    const settings = new Set(source.match(/^ {2}[A-Z][A-Z_]+(?=:)/gm)?.map((name) => name.trim()));
    for (const name of ["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"]) settings.add(`${name}_FILE`);
    const documented = new Set(
      [...page.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) /gm)].flatMap(
        ([, names = ""]) => names.match(/[A-Z_]+/g) ?? [],
      ),
    );
    expect([...documented].toSorted()).toEqual([...settings].toSorted());
    for (const [, name = "", value = ""] of source.matchAll(
      /^ {2}([A-Z_]+): integer\(\{\s*default: ([0-9_]+)/gm,
    )) {
      expect(page).toContain(`| \`${name}\` | ${value.replaceAll("_", "")} |`);
    }
  });

  test("names every command and every alert", () => {
    const source = read("receiver/program.ts");
    const commands = [...source.matchAll(/\.command\("([a-z]+)/g)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(8);
    for (const name of commands.filter((one) => one !== "inbox"))
      expect(page).toMatch(new RegExp(`\`(inbox )?${name}\\b`));
    const paging = [
      ...read("deploy/alerts.yaml").matchAll(/alert: (\w+)\n(?:.*\n){1,8}?.*severity: (?:page|ticket)/g),
    ];
    for (const [, name = ""] of paging.filter(
      ([, one]) => one !== "ReceiverDown" && one !== "ReceiverAcknowledgesSlowly",
    )) {
      expect(page).toContain(name);
    }
  });
});

test("the README states all nine promises, also what is not promised, and its links lead somewhere", () => {
  const readme = read("receiver/README.md");
  for (let promise = 1; promise <= 9; promise += 1) {
    expect(readme).toMatch(new RegExp(`^\\| R${String(promise)} +\\|`, "m"));
  }
  expect(readme).toMatch(
    /\*\*Not promised:\*\* the order of events, exactly-once outside the database, and databases on network file systems/,
  );
  const files = readdirSync(join(root, "receiver"), { recursive: true, encoding: "utf8" });
  for (const [, name = ""] of readme.matchAll(/`((?:engines\/sqlite\/)?[a-z-]+\.ts)`/g)) {
    expect(files.some((file) => file.endsWith(name))).toBe(true);
  }
  for (const page of ["docs/operations.md", "docs/handlers.md", "docs/reconcile.md", "docs/upgrading.md"]) {
    expect(readme).toContain(page);
    for (const [, link = ""] of read(page).matchAll(/\]\(([a-z-]+\.md)\)/g))
      expect(read(`docs/${link}`)).not.toBe("");
  }
});

test("the first handler in docs/handlers.md works", async () => {
  const [, code = ""] = /```ts\n([^`]*)```/.exec(read("docs/handlers.md")) ?? [];
  const file = join(temporaryDirectory(), "handler.ts");
  const handlerModule = pathToFileURL(join(root, "receiver/work/handler.ts")).href;
  const zod = import.meta.resolve("zod");
  writeFileSync(
    file,
    code.replace("../work/handler.ts", handlerModule).replace('"zod"', JSON.stringify(zod)),
  );
  const { callCompleted } = (await import(/* @vite-ignore */ file)) as { callCompleted: Handler };
  const { run, rows } = await bench(callCompleted);
  const event = sampleEnvelope("call.completed");
  await run(event);
  expect(await rows("SELECT * FROM seen_calls")).toEqual([
    { call_id: event.data.object["id"], outcome: "completed" },
  ]);
});

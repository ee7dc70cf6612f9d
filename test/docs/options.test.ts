import type { Command, Option } from "commander";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../simulator/commands/catalogue.ts";
import { OPTION_BOUNDS } from "../../simulator/domain/option-bounds.ts";
import { pageAt } from "./pages.ts";

/** What the pages say of options, held to what the program has: every flag, default, bound and variable. */

const page = pageAt("docs/commands.md").replaceAll(/ +/g, " ");
const verifyPages = ["docs/verify.md", "docs/testing-in-ci.md"].map(pageAt).join("\n").replaceAll(/ +/g, " ");
const head = page.slice(0, page.indexOf("\n## "));

type Known = { name: string; leaf: Command; option: Option };
const known: Known[] = (
  await Promise.all(
    COMMANDS.map(async ({ name, load }) =>
      leavesOf(await load()).flatMap((leaf) => leaf.options.map((option) => ({ name, leaf, option }))),
    ),
  )
).flat();

describe("options in the documentation", () => {
  test("that stand in a table are all options of their command", () => {
    const rows = page.split(/^## /m).flatMap((section) => {
      const [name = ""] = section.split("\n");
      const cells = [...section.matchAll(/^\| (`--[^|]+) \|/gm)].map(([, cell = ""]) => cell);
      return cells.flatMap((cell) => (cell.match(/--[a-z-]+/g) ?? []).map((flag) => ({ name, flag })));
    });
    const wrong = rows.filter(
      ({ name, flag }) => !known.some((one) => one.name === name && one.option.long === flag),
    );
    expect(wrong).toEqual([]);
    expect(rows.length).toBeGreaterThan(40);
  });

  test("are told with their defaults", () => {
    const told = known.filter(({ option }) => isWorthTelling(option.defaultValue));
    const silent = told.filter(({ name, option }) => {
      const where =
        name === "verify"
          ? verifyPages
          : `${head}\n${sectionOf(name)}${name === "dev" ? sectionOf("serve") : ""}`;
      const lines = where.split("\n").filter((line) => line.includes(option.long ?? "?"));
      return !waysToWrite(option.defaultValue).some((way) => lines.some((line) => isNamed(way, line)));
    });
    expect(
      silent.map(
        ({ name, leaf, option }) => `${name} ${leaf.name()} ${option.flags} ${String(option.defaultValue)}`,
      ),
    ).toEqual([]);
    expect(told.length).toBeGreaterThan(30);
  });

  test("are told with the variables that stand for them, and with their largest number", () => {
    const variables = known.flatMap(({ option }) => option.envVar ?? []);
    expect(new Set(variables).size).toBe(3);
    expect(variables.filter((variable) => !page.includes(`\`${variable}\``))).toEqual([]);
    expect(sectionOf("trigger")).toContain(`${OPTION_BOUNDS.count[1].toLocaleString("en-US")} at most`);
  });
});

test("help shows what an option is without being given, in the form in which it is given", () => {
  const helps = known.filter(({ option }) => isWorthTelling(option.defaultValue));
  const silent = helps.filter(({ leaf, option }) => {
    const help = leaf.helpInformation().replaceAll(/\s+/g, " ");
    const shown = option.defaultValueDescription ?? JSON.stringify(option.defaultValue);
    return (
      !help.includes(`default: ${shown}`) ||
      !waysToWrite(option.defaultValue).includes(shown.replaceAll('"', ""))
    );
  });
  expect(silent.map(({ leaf, option }) => `${leaf.name()} ${option.flags}`)).toEqual([]);
});

/** No, none, zero and one are what everybody expects. */
function isWorthTelling(value: unknown): boolean {
  return (typeof value === "number" && value > 1) || typeof value === "string";
}

/** The ways in which people write it: `100,000`, `24h`. */
function waysToWrite(value: unknown): string[] {
  if (typeof value !== "number") return [String(value)];
  const hours = value / 3_600;
  return [String(value), value.toLocaleString("en-US"), ...(Number.isInteger(hours) ? [`${hours}h`] : [])];
}

function isNamed(way: string, text: string): boolean {
  const escaped = way.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return new RegExp(`(?<![\\w.,])${escaped}(?![\\w]|[.,]\\d)`).test(text);
}

function sectionOf(name: string): string {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${name}\n`));
  if (section === undefined) throw new Error(`docs/commands.md has no section ${name}.`);
  return section;
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

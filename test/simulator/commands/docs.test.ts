import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../simulator/commands/catalogue.ts";

const commands = readFileSync("docs/commands.md", "utf8");
const head = commands.slice(0, commands.indexOf("\n## "));

/** Options that the page explains at its top for all commands, or that another page explains. */
const SAID_ELSEWHERE = new Set(["--json", "--simulator", "--help"]);

test.each(COMMANDS.map(({ name }) => name))(
  "docs/commands.md tells of %s and all of its options",
  async (name) => {
    expect(head).toContain(`[\`${name}\`](#${name})`);
    const section = sectionOf(name);
    if (name === "verify") return;
    const command = COMMANDS.find((one) => one.name === name);
    if (command === undefined) throw new Error(`There is no command ${name}.`);
    // `dev` takes what `serve` takes, and its section says so.
    const documented = name === "dev" ? section + sectionOf("serve") : section;
    for (const leaf of leavesOf(await command.load())) {
      expect(leaf.name() === name || section.includes(`\`${leaf.name()}`)).toBe(true);
      const missing = leaf.options
        .map(({ long }) => long ?? "")
        .filter((long) => !SAID_ELSEWHERE.has(long) && !`${documented}${head}`.includes(long));
      expect(missing).toEqual([]);
    }
  },
);

test("docs/testing-with-the-library.md shows the example that the tests run", () => {
  const page = readFileSync("docs/testing-with-the-library.md", "utf8");
  const shown = /```ts\n(.*?)```/s.exec(page)?.[1];
  const run = readFileSync("test/simulator/library/example.test.ts", "utf8")
    .replace('"../../../simulator/index.ts"', '"voice-agent-webhook-kit/simulator"')
    .replace('"./example-receiver.ts"', '"../src/receiver.ts"');
  expect(shown).toBe(run);
});

function sectionOf(name: string): string {
  const section = commands.split(/^## /m).find((text) => text.startsWith(`${name}\n`));
  if (section === undefined) throw new Error(`docs/commands.md has no section ${name}.`);
  return section;
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

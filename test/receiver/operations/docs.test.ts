import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const read = (path: string): string => readFileSync(path, "utf8");

describe("docs/operations.md", () => {
  // The formatter aligns tables; what they say is what counts.
  const page = read("docs/operations.md").replaceAll(/ +/g, " ");

  test("names every setting with its default, and no other", () => {
    const source = read("receiver/config.ts");
    const settings = new Set(source.match(/^ {4}[A-Z][A-Z_]+(?=:)/gm)?.map((name) => name.trim()));
    for (const name of ["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"]) settings.add(`${name}_FILE`);
    const documented = new Set(
      [...page.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) /gm)].flatMap(
        ([, names = ""]) => names.match(/[A-Z_]+/g) ?? [],
      ),
    );
    expect([...documented].toSorted()).toEqual([...settings].toSorted());
    const numbers = [...source.matchAll(/^ {4}([A-Z_]+): integer\(([0-9_]+),/gm)];
    expect(numbers.length).toBeGreaterThan(10);
    for (const [, name = "", value = ""] of numbers) {
      expect(page).toContain(`| \`${name}\` | ${value.replaceAll("_", "")} |`);
    }
  });

  test("names every command and every alert", () => {
    const source = read("receiver/main.ts");
    const commands = [...source.matchAll(/command\((?:\w+,\s*)?"([a-z]+)/g)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(8);
    for (const name of commands.filter((one) => one !== "inbox"))
      expect(page).toMatch(new RegExp(`\`(inbox )?${name}\\b`));
    const paging = [
      ...read("deploy/alerts.yaml").matchAll(/alert: (\w+)\n(?:.*\n){1,8}?.*severity: (?:page|ticket)/g),
    ];
    for (const [, name = ""] of paging.filter(([, one]) => one !== "ReceiverDown"))
      expect(page).toContain(name);
  });
});

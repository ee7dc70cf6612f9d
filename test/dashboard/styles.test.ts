import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const FOLDER = fileURLToPath(new URL("../../simulator/dashboard/app/styles/", import.meta.url));
const TOKENS = readFileSync(`${FOLDER}tokens.css`, "utf8");
const OTHERS = readdirSync(FOLDER)
  .filter((name) => name !== "tokens.css")
  .map((name) => ({ name, text: readFileSync(FOLDER + name, "utf8") }));

test("there are five sizes of type, and no sheet has one of its own", () => {
  expect(TOKENS.match(/--size-\w+:/g)).toHaveLength(5);
  for (const { name, text } of OTHERS) {
    const own = [...text.matchAll(/font(?:-size)?:([^;]*\d(?:px|r?em)[^;]*);/g)].map(([, value]) => value);
    expect({ name, own }).toEqual({ name, own: [] });
  }
});

test("colours stand with the tokens, each of which has a light and a dark form", () => {
  for (const { name, text } of OTHERS) {
    const own = text.match(/#[0-9a-f]{3,8}\b|light-dark\(|hsl\(|oklch\(/gi) ?? [];
    expect({ name, own }).toEqual({ name, own: [] });
  }
  const used = new Set(OTHERS.flatMap(({ text }) => text.match(/var\(--[\w-]+/g) ?? []));
  const known = new Set(TOKENS.match(/--[\w-]+(?=:)/g));
  const own = ["--page-end", "--filled"];
  const unknown = [...used]
    .map((name) => name.slice(4))
    .filter((name) => !known.has(name) && !own.includes(name));
  expect(unknown).toEqual([]);
});

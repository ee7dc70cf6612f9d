import { sample, string, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../helpers/any-character.ts";
import { isPrintable } from "../../../shared/text.ts";
import { printfOf, quoted, shellWord } from "../../../simulator/text/shell-words.ts";
import { runInBash } from "../../verify/bash.ts";

const HOSTILE = [
  "",
  "-n",
  "--",
  "%s%d%%",
  "$(exit 1) `x` ${HOME} $HOME !! ~ * ? [a] {b,c}",
  `it's "quoted" \\ \\n`,
  "##vso[task.setvariable]x ##[error]",
  "line\nbreak\r\ttab\u001b[31m\u009b\u007f",
  "\u202ereversed \u2028 \ufeff \u{e0001} Zoë 東京 🍕",
];

test("bash reads any word unchanged, and it can be pasted in one line", async () => {
  const texts = [
    ...HOSTILE,
    ...sample(string({ unit: anyCharacter }), { numRuns: 60, seed: 1 }).map(withoutZero),
  ];
  const words = texts.flatMap((text) => [shellWord(text), quoted(text), quoted(Buffer.from(text))]);

  expect(words.filter((word) => !isPrintable(word))).toEqual([]);
  const read = await runInBash(
    words.map((word) => `printf %s ${word}; echo`),
    {},
  );
  expect(read).toEqual(texts.flatMap((text) => [text, text, text]).map((text) => `${text}\n`));
});

test("a printf in one line that can be pasted writes any bytes", async () => {
  const all = [
    ...HOSTILE.map((text) => Buffer.from(text)),
    Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    ...sample(uint8Array({ maxLength: 40 }), { numRuns: 40, seed: 2 }).map((bytes) => Buffer.from(bytes)),
  ];
  const commands = all.map(printfOf);

  expect(commands.filter((command) => !isPrintable(command))).toEqual([]);
  const read = await runInBash(
    commands.map((command) => `${command} | od -An -v -tx1 | tr -d ' \\n'; echo`),
    {},
  );
  expect(read.map((hex) => hex.trim())).toEqual(all.map((bytes) => bytes.toString("hex")));
});

test("beginnings of a build server's commands are broken up", () => {
  expect([quoted("##vso[x]"), quoted("a ##[error]")].join(" ")).not.toContain("##");
});

test("a plain word stays unquoted", () => {
  expect([shellWord("http://localhost:3000/webhooks"), shellWord("42")]).toEqual([
    "http://localhost:3000/webhooks",
    "42",
  ]);
});

function withoutZero(text: string): string {
  return text.replaceAll("\0", "");
}

import { expect, test } from "vitest";
import { evaluate } from "../../simulator/signature-recipe/evaluate.ts";
import {
  BODY,
  digest,
  GENUINE,
  header,
  moment,
  type Part,
  type SignatureRecipe,
  T,
  V1,
} from "../../simulator/signature-recipe/recipe.ts";
import { shellSignature } from "../../simulator/signature-recipe/shell.ts";
import { printfOf } from "../../simulator/text/shell-words.ts";
import { sign } from "../../shared/signature.ts";
import { runInBash, standingDate } from "../verify/bash.ts";

const SECRET = "whsec_$(exit 1) `x` 'quoted'";
const NOW_SECONDS = 1_790_000_000;
const BODY_BYTES = Buffer.from('{"text":"Zoë $HOME % \\\\ \\u0000"}\r\n\0\xff', "latin1");

const headers = (...values: Part[][]): SignatureRecipe => ({ ...GENUINE, headers: values });

const RECIPES: Record<string, SignatureRecipe> = {
  genuine: GENUINE,
  old: { ...GENUINE, t: [moment(3_600)] },
  ahead: { ...GENUINE, t: [moment(-3_600)] },
  "at a limit": { ...GENUINE, t: [moment(300)] },
  "in milliseconds": { ...GENUINE, t: [moment(0), "000"] },
  "a word for t": { ...GENUINE, t: ["-", moment(5), " $x"] },
  "another key": { ...GENUINE, key: "it's `another`" },
  "an empty key": { ...GENUINE, key: "" },
  "another body": { ...GENUINE, signedBody: Buffer.from("-n %s") },
  "no header": headers(),
  "an empty header": headers([]),
  "two headers": headers(header`v1=${V1},t=${T}`, header`t=${T}`),
  "digits behind": headers(header`t=${T}0,v1=${V1}0${V1}x`),
  "cut short": headers(header`t=${T},v1=${digest({ keep: 8 })}`),
  "a wrong first digit": headers(header`t=${T},v1=${digest({ wrongDigit: "first" })}`),
  "a wrong last digit": headers(header`t=${T},v1=${digest({ wrongDigit: "last" })}.`),
  spellings: headers(
    (["hex", "upper-case hex", "base64", "base64url"] as const).flatMap((spelling) => [
      digest({ spelling }),
      ",",
    ]),
  ),
  messages: headers([
    digest({ message: [BODY] }),
    digest({ message: [T, BODY] }),
    digest({ message: ["t=", T, "$", BODY, Buffer.from([0, 255, 10])] }),
    digest({ message: [moment(2), ".", BODY], key: "other" }),
  ]),
  "two times": headers(header`t=${moment(0)},t=${T},v1=${V1}`),
  "odd characters": headers(header`t=${T},v1=${Buffer.from('é!$`"\\##[', "latin1")}東`),
};

test("the shell lines of every recipe make the same header as the simulator sends, byte for byte", async () => {
  const names = Object.keys(RECIPES);
  const scripts = Object.values(RECIPES).map((recipe) => {
    const signature = shellSignature(recipe, "X");
    return [
      ...(signature?.lines ?? ["echo no lines"]),
      ...(signature?.headers ?? []).map(
        (word) => `printf '%s|' ${word} | od -An -v -tx1 | tr -d ' \\n'; echo`,
      ),
    ].join("\n");
  });
  const before = `${standingDate(NOW_SECONDS)}\nbody() { ${printfOf(BODY_BYTES)}; }`;
  const outputs = await runInBash(scripts, { SIGNING_SECRET: SECRET }, before);

  const made = outputs.map((output) =>
    output
      .trim()
      .split("\n")
      .filter((line) => line !== ""),
  );
  const expected = Object.values(RECIPES).map((recipe) =>
    evaluate(recipe, { secret: SECRET, body: BODY_BYTES, nowSeconds: NOW_SECONDS }).map((value) =>
      Buffer.concat([Buffer.from(value.length === 0 ? "X;" : "X: "), value, Buffer.from("|")]).toString(
        "hex",
      ),
    ),
  );
  expect(names.map((name, index) => ({ name, made: made[index] }))).toEqual(
    names.map((name, index) => ({ name, made: expected[index] })),
  );
});

test("the genuine recipe makes the contract's signature", () => {
  const occasion = { secret: SECRET, body: BODY_BYTES, nowSeconds: NOW_SECONDS };
  const signed = sign({ body: BODY_BYTES, secret: SECRET, timestampSeconds: NOW_SECONDS });
  expect(evaluate(GENUINE, occasion).map(String)).toEqual([signed]);
});

test("a header that no shell can make has no shell lines", () => {
  const impossible = [
    digest({ key: () => Buffer.from("x") }),
    digest({ body: (body) => body }),
    digest({ hash: (key) => Buffer.from(key) }),
    digest({ spelling: "latin1" }),
  ];
  expect(impossible.map((one) => shellSignature(headers([one]), "X"))).toEqual(
    impossible.map(() => undefined),
  );
});

test.for([
  ["the time is at a limit", RECIPES["at a limit"]!, true],
  ["the header signs a time and keeps it to itself", headers(header`v1=${V1}`), true],
  ["the time stands in the header", GENUINE, false],
  ["no time is signed", headers(header`v1=${digest({ message: [BODY] })}`), false],
] as const)("a shell waits for a fresh second where %s: %s", ([, recipe, waits]) => {
  const lines = shellSignature(recipe, "X")?.lines.join("\n") ?? "";
  expect(lines.includes("sleep 0.01")).toBe(waits);
});

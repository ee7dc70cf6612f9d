import { expect, test } from "vitest";
import { z } from "zod";
import { run } from "../simulator/commands/in-process.ts";

/** Which checks are run for several options together: those that each of them by itself leaves. */

const listSchema = z.object({
  data: z.array(z.object({ id: z.string(), group: z.string(), level: z.enum(["must", "advice"]) })),
});

type Check = z.infer<typeof listSchema>["data"][number];

async function listed(...options: string[]): Promise<{ code: number; err: string; checks: Check[] }> {
  const { code, err, out } = await run("verify", "--list", "--json", ...options);
  return { code, err, checks: out === "" ? [] : listSchema.parse(JSON.parse(out)).data };
}

/** Each option with what it leaves, where the list tells that; the types that a check is about are not in it. */
const OPTIONS: [words: string[], leaves?: (check: Check) => boolean][][] = [
  [
    [["--only", "signature,load.burst"], ({ id, group }) => group === "signature" || id === "load.burst"],
    [["--only", "load.*", "--only", "wire"], ({ id, group }) => id.startsWith("load.") || group === "wire"],
  ],
  [[["--skip", "signature.s*"], ({ id }) => !id.startsWith("signature.s")]],
  [[["--level", "must"], ({ level }) => level === "must"]],
  [[["--events", "call.completed"]]],
];

test("several options together leave what each of them leaves", async () => {
  const { checks: all } = await listed();
  expect(all.length).toBeGreaterThan(50);
  const leftBy = new Map<readonly string[], Set<string>>();
  for (const [words, leaves] of OPTIONS.flat()) {
    const { checks } = await listed(...words);
    const ids = checks.map(({ id }) => id);
    leftBy.set(words, new Set(ids));
    expect({ words, ids }).toEqual({
      words,
      ids: leaves === undefined ? ids : all.filter(leaves).map(({ id }) => id),
    });
  }
  for (const chosen of choicesOf(OPTIONS.map((choices) => choices.map(([words]) => words)))) {
    const { code, err, checks } = await listed(...chosen.flat());
    const ids = all
      .filter(({ id }) => chosen.every((words) => leftBy.get(words)?.has(id)))
      .map(({ id }) => id);
    const isRefused = err.includes("The selection leaves no check to run. See verify --list.");
    expect({ chosen, code, ids: checks.map(({ id }) => id), isRefused }).toEqual({
      chosen,
      code: ids.length > 0 ? 0 : 2,
      ids,
      isRefused: ids.length === 0,
    });
  }
});

/** One of each, or none. */
function choicesOf(options: readonly string[][][]): string[][][] {
  const [first, ...others] = options;
  if (first === undefined) return [[]];
  const more = choicesOf(others);
  return [...more, ...first.flatMap((words) => more.map((chosen) => [words, ...chosen]))];
}

test.each([
  [["--only", "wrie"], "wrie"],
  [["--skip", "wrie"], "wrie"],
  [["--skip", "wire,wrie"], "wrie"],
  [["--only", "wire", "--skip", "wrie.*"], "wrie.*"],
  [["--only", "wrie", "--skip", "wire"], "wrie"],
  [["--skip", "load", "--skip", "signature.nothing"], "signature.nothing"],
  [["--only", "preflight"], "preflight"],
])("what names no check is refused, wherever it stands among others: %j", async (words, name) => {
  const { code, err, checks } = await listed(...words);
  expect({ code, checks }).toEqual({ code: 2, checks: [] });
  expect(err).toContain(
    `No check is called ${JSON.stringify(name)}. Give a group (acknowledgement, signature,`,
  );
});

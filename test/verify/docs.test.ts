import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CATALOGUE, selectChecks } from "../../simulator/verify/catalogue.ts";
import { LEVELS } from "../../simulator/verify/check.ts";

const PAGE = new URL("../../docs/verify.md", import.meta.url);

test("docs/verify.md lists every check with its level, what it asks and its rule, in the order of the reports", async () => {
  const page = await readFile(PAGE, "utf8");
  const list = page.slice(page.indexOf("## Every check"));
  const rows = list
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
  const expected = CATALOGUE.map(({ id, level, title, spec, thorough }) => [
    `\`${id}\``,
    level,
    thorough === true ? `${title} (with \`--thorough\`)` : title,
    `[${spec.section.replace("SPEC ", "")}](${spec.page.replace("docs/", "")})`,
  ]);
  expect(rows).toEqual(expected);
});

test("every check has a name of its own, in its group, and one of the two levels", () => {
  const ids = CATALOGUE.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { id, group, level } of CATALOGUE) {
    expect(id.startsWith(`${group}.`)).toBe(true);
    expect(LEVELS).toContain(level);
  }
});

test("what is left out without --thorough, and for an endpoint with a selection, is what says so", () => {
  const ids = (selection: Parameters<typeof selectChecks>[0]): string[] => {
    const selected = selectChecks(selection);
    return selected.ok ? selected.checks.map(({ id }) => id) : [];
  };
  const all = CATALOGUE.map(({ id }) => id);
  expect(ids({ thorough: true })).toEqual(all);
  expect(all.filter((id) => !ids({}).includes(id))).toEqual(["effects.after-whole-schedule"]);
  expect(selectChecks({ only: ["duplicates", "effects.after-whole-schedule"] })).toEqual({
    ok: false,
    message: "effects.after-whole-schedule is run by --thorough alone, since it takes long: add that.",
  });
  expect(ids({ only: ["effects.after-w*"], thorough: true })).toEqual(["effects.after-whole-schedule"]);
  expect(ids({ only: ["effects"] })).toContain("effects.each-type");
  const orders = ids({ thorough: true, events: ["order.created"] });
  expect(orders).toContain("readings.minimal-order");
  expect(orders).toContain("acknowledgement.any-order");
  expect(ids({ events: ["call.completed"] })).not.toContain("duplicates.same-call-two-types");
  expect(orders).not.toContain("readings.minimal-booking");
  expect(orders).not.toContain("evolution.unknown-type");
  expect(orders).not.toContain("duplicates.same-call-two-types");
  expect(
    ids({ level: "must" }).every((id) => CATALOGUE.find((check) => check.id === id)?.level === "must"),
  ).toBe(true);
});

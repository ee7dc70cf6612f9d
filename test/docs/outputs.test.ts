import { expect, test } from "vitest";
import { parseSignature } from "../../shared/signature.ts";
import { selectChecks } from "../../simulator/verify/catalogue.ts";
import { filesOf } from "../repository/files.ts";
import { blockUnder } from "./pages.ts";

/** Output that pages show, where no other test of theirs makes it anyway. */

test("README.md shows as many checks passed in each group as there are", () => {
  const shown = blockUnder("README.md", "Test your own receiver, in any language", "text");
  const selected = selectChecks({ level: "must" });
  const checks = selected.ok ? selected.checks : [];
  const groups = new Map<string, number>();
  for (const [, group = "", counts = ""] of shown.matchAll(/^[✓?] ([a-z-]+) +(.+)$/gm)) {
    groups.set(
      group,
      [...counts.matchAll(/\d+/g)].reduce((sum, [count]) => sum + Number(count), 0),
    );
  }
  // Reachable, and accepting; the third asks for effects.
  expect(groups.get("preflight")).toBe(2);
  groups.delete("preflight");
  const expected = Object.entries(Object.groupBy(checks, ({ group }) => group));
  expect(Object.fromEntries(groups)).toEqual(
    Object.fromEntries(expected.map(([group, those]) => [group, those.length])),
  );
  const [, passed, unverified] = /PASSED +(\d+) passed, 0 failed, .*?(\d+) unverified/.exec(shown) ?? [];
  expect(Number(passed) + Number(unverified)).toBe(checks.length + 2);
  const [, reason = ""] = /\d+ checks: (.+)/.exec(shown) ?? [];
  const [sentence = ""] = reason.split(". ");
  expect(
    [...filesOf(/^simulator\/verify\/.*\.ts$/).values()].some((source) => source.includes(sentence)),
  ).toBe(true);
});

test("docs/signature.md shows a header of the form that it describes", () => {
  const [, value = ""] =
    /^X-Service-Signature: (.+)\n$/.exec(
      blockUnder("docs/signature.md", "How do I verify the signature?", "text"),
    ) ?? [];
  expect(parseSignature([value])).toMatchObject({ ok: true });
});

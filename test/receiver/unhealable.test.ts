import { expect, test } from "vitest";
import { unfitToStore, unhealable } from "../../receiver/operations/unhealable.ts";

test("what nobody can heal is looked for around the gap that was found, whatever the order of what was", () => {
  const healed = ["2026-03-02", "2026-03-05", "2026-03-01"].map((createdAt) => ({ createdAt }));
  for (const { whatToDo } of unhealable({ since: "2026-02-01", healed }))
    expect(whatToDo).toContain(
      "around the gap from 2026-03-01 to 2026-03-05, or for all of that time where a backup",
    );
  expect(unhealable({ since: "2026-02-01", healed: [] })[0]?.whatToDo).toContain("since 2026-02-01, should");
});

test("of what is unfit three are named, and that there are more", () => {
  const unfit = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      type: "call.completed" as const,
      objectId: `call_${String(at)}`,
    }));
  expect(unfitToStore(unfit(3))[0]?.reason).toMatch(/^3 of .*\(call_0, call_1, call_2\)\.$/);
  expect(unfitToStore(unfit(4))[0]?.reason).toMatch(/^4 of .*\(call_0, call_1, call_2, …\)\.$/);
});

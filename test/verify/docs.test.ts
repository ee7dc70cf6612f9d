import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CATALOGUE, selectChecks } from "../../simulator/verify/catalogue.ts";

const PAGE = new URL("../../docs/verify.md", import.meta.url);

test("docs/verify.md lists every check with its level and its rule, in the order of the reports", async () => {
  const page = await readFile(PAGE, "utf8");
  const [, list = ""] = /## Every check[^]*```text\n([^]*)```/.exec(page) ?? [];
  const rows = CATALOGUE.map(({ id, level, spec }) => `${id} ${level} ${/§\d/.exec(spec.section)?.[0]}`);
  expect(list.trim().split("\n")).toEqual(rows);
});

test("checks left out without --level production, or for an endpoint with a selection, are listed", () => {
  const ids = (selection: Parameters<typeof selectChecks>[0]): string[] => {
    const selected = selectChecks(selection);
    return selected.ok ? selected.checks.map(({ id }) => id) : [];
  };
  const all = CATALOGUE.map(({ id }) => id);
  expect(ids({ level: "production" })).toEqual(all);
  expect(ids({})).toEqual(all.filter((id) => !id.startsWith("production.")));
  expect(ids({ only: ["production"] })).toEqual([]);
  expect(ids({ only: ["production"], level: "production" })).toEqual(
    all.filter((id) => id.startsWith("production.")),
  );
  expect(selectChecks({ only: ["duplicates", "production.drains"] })).toEqual({
    ok: false,
    message: "production.drains needs --level production.",
  });
  expect(selectChecks({ only: ["preflight"] })).toEqual({ ok: true, checks: [] });
  const orders = ids({ events: ["order.created"] });
  expect(orders).toContain("readings.minimal-order");
  expect(orders).not.toContain("readings.minimal-booking");
  expect(orders).not.toContain("evolution.unknown-type");
  expect(ids({ events: ["call.completed"] })).not.toContain("duplicates.same-call-two-types");
  expect(ids({ level: "must" })).toEqual(
    CATALOGUE.filter(({ level, group }) => level === "must" && group !== "production").map(({ id }) => id),
  );
});

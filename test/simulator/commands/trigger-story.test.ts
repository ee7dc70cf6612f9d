import { expect, test } from "vitest";
import { startService } from "./in-process.ts";

const OPTIONS = ["--set outcome=completed", "--count 2", "--fault duplicate", "--org ORGANIZATION"];

test.each(OPTIONS)("a scenario does not take %s, which is for one event type", async (words) => {
  const [option = "", value = ""] = words.split(" ");
  const { sim, simulator } = await startService();
  const given = value === "ORGANIZATION" ? (simulator.organizations()[0]?.id ?? "") : value;
  const { code, out, err } = await sim("trigger", "busy-friday", option, given);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(option);
  expect(err).toContain("busy-friday is a scenario");
  expect((await sim("clock", "--json")).json()).toMatchObject({ next_attempt_at: null });
});

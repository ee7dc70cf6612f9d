import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfigured } from "../../receiver/engines/open.ts";
import { examine } from "../../receiver/operations/doctor.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";

test("doctor looks at everything but the database that is not there yet, and makes none", async () => {
  const folder = temporaryDirectory();
  const look = async (file: string) => {
    const config = testConfig({
      DATABASE_URL: `sqlite:${file}`,
      SIGNING_SECRET: "whsec_long_enough_for_all",
    });
    const findings = await examine({ config, engine: undefined, api: undefined, environment: {} });
    return findings.filter(({ check }) => check === "database" || check === "disk");
  };
  const file = join(folder, "data", "receiver.db");
  expect(await look(file)).toEqual([
    expect.objectContaining({ level: "warning", message: expect.stringContaining(`none at ${file} yet`) }),
    expect.objectContaining({ check: "disk", level: "ok" }),
  ]);
  const typo = join(folder, "dta", "deep", "receiver.db");
  expect((await look(typo))[0]).toMatchObject({
    level: "problem",
    message: `There is no folder ${join(folder, "dta")}: make it, or mend DATABASE_URL.`,
  });
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_long_enough_for_all" };
  expect(await runReceiver(["doctor"], environment)).toMatchObject({
    code: 0,
    out: expect.stringContaining("the first start makes it"),
  });
  expect(existsSync(join(folder, "data")) || existsSync(join(folder, "dta"))).toBe(false);
});

test("a command on the inbox wants no secret and makes no inbox, and no receiver makes folders for a mistyped name", async () => {
  const folder = temporaryDirectory();
  const stats = await runReceiver(["inbox", "stats"], {
    DATABASE_URL: `sqlite:${join(folder, "receiver.db")}`,
  });
  expect(stats).toMatchObject({ code: 3, err: expect.stringContaining("there is no inbox at") });
  const config = testConfig({ DATABASE_URL: `sqlite:${join(folder, "typo", "deep", "receiver.db")}` });
  await expect(openConfigured(config)).rejects.toThrow(`there is no folder ${join(folder, "typo")}`);
  expect(readdirSync(folder)).toEqual([]);
});

test("backup makes the folder that is named, and none above it", async () => {
  const { engine } = await startTestReceiver();
  const folder = temporaryDirectory();
  const refused = await engine.ledger.backup?.(join(folder, "typo", "copies")).catch(String);
  expect(refused).toContain(`There is no folder ${join(folder, "typo")}: make it`);
  expect(existsSync(join(folder, "typo"))).toBe(false);
  expect(await engine.ledger.backup?.(join(folder, "copies"))).toHaveLength(2);
});

test.each(["receiver.db", "receiver.work.db"])(
  "backup overwrites no %s that is there, and writes none beside it; what a broken one has left is no hindrance",
  async (name) => {
    const { engine } = await startTestReceiver();
    const folder = temporaryDirectory();
    const there = join(folder, name);
    writeFileSync(there, "precious");
    const refused = await engine.ledger.backup?.(folder).catch(String);
    expect(refused).toContain(`${there} is there already. Name another directory, or move it away.`);
    expect([readdirSync(folder), readFileSync(there, "utf8")]).toEqual([[name], "precious"]);
    renameSync(there, `${there}.part`);
    expect(await engine.ledger.backup?.(folder)).toHaveLength(2);
    expect(readdirSync(folder).toSorted()).toEqual(["receiver.db", "receiver.work.db"]);
  },
);

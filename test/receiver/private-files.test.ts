import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { backup, runDoctor } from "../../receiver/operations/commands/care.ts";
import { newBody, post } from "./helpers/events.ts";
import { startProcess } from "./helpers/process.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { recordingTerminal } from "./helpers/terminal.ts";

/** What is kept of people can be read by nobody but the owner of the files, whatever the mask of the process is. */

const modes = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory).map((name) => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)]),
  );

async function open(file: string) {
  const engine = await openSqliteEngine({
    file,
    clock: systemClock,
  });
  onTestFinished(engine.close);
  return engine;
}

test("databases, what stands beside them and backups are the owner's alone", async () => {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const directory = join(temporaryDirectory(), "made", "anew");
  const engine = await open(join(directory, "receiver.db"));
  await engine.intake.probe();
  await engine.ledger.counts();
  const found = modes(directory);
  expect(Object.keys(found)).toContain("receiver.db-wal");
  expect(new Set(Object.values(found))).toEqual(new Set(["600"]));
  expect(statSync(directory).mode & 0o777).toBe(0o700);

  const target = join(temporaryDirectory(), "copy");
  expect(await backup({ engine, terminal: recordingTerminal() }, target)).toBe(0);
  expect(process.umask()).toBe(0o077);
  expect(modes(target)).toEqual({ "receiver.db": "600", "receiver.work.db": "600" });
  expect(statSync(target).mode & 0o777).toBe(0o700);
});

test.for(["receiver.db", "receiver.work.db"])(
  "nothing is made or written through a link at %s",
  async (name) => {
    const directory = temporaryDirectory();
    const elsewhere = join(temporaryDirectory(), "elsewhere");
    symlinkSync(elsewhere, join(directory, name));
    await expect(open(join(directory, "receiver.db"))).rejects.toThrow(/symbolic link.*Name the file itself/);
    expect(existsSync(elsewhere)).toBe(false);
    // Nor is one that leads to a file which is there.
    writeFileSync(elsewhere, "");
    await expect(open(join(directory, "receiver.db"))).rejects.toThrow(/symbolic link/);
    expect(statSync(elsewhere).size).toBe(0);
  },
);

test("a link where the write-ahead log would be is not written through either", async () => {
  const directory = temporaryDirectory();
  const elsewhere = join(temporaryDirectory(), "elsewhere");
  writeFileSync(elsewhere, "precious");
  symlinkSync(elsewhere, join(directory, "receiver.db-wal"));
  const engine = await open(join(directory, "receiver.db")).catch(() => undefined);
  await engine?.intake.probe();
  expect(readFileSync(elsewhere, "utf8")).toBe("precious");
});

test("files that others can read are named by doctor, and private again after the next start", async () => {
  const directory = join(temporaryDirectory(), "data");
  mkdirSync(directory);
  const file = join(directory, "receiver.db");
  const environment = { DATABASE_URL: `sqlite:${file}` };
  const engine = await open(file);
  await engine.intake.probe();
  for (const name of ["receiver.db", "receiver.work.db"]) chmodSync(join(directory, name), 0o640);
  const terminal = recordingTerminal();
  // Said, but no reason to fail.
  expect(await runDoctor({ config: testConfig(environment), engine, terminal }, {})).toBe(0);
  for (const name of ["receiver.db", "receiver.work.db"])
    expect(
      terminal.printed.filter((line) => line.endsWith(`chmod 600 ${join(directory, name)}`)),
    ).toHaveLength(1);
  await engine.close();

  const { url, lines, kill } = await startProcess({
    environment: { ...environment, RECEIVER_ROLE: "ingest" },
  });
  expect((await post(url, newBody())).status).toBe(200);
  expect(new Set(Object.values(modes(directory)))).toEqual(new Set(["600"]));
  expect(lines.filter((line) => line.includes('"mended":true')).length).toBeGreaterThanOrEqual(2);
  await kill();
});

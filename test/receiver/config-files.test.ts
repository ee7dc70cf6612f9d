import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, readEnvironment } from "../../receiver/config.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Settings that are read from files: secrets, and .env. */

function fileWith(content: string | Uint8Array): string {
  const file = join(temporaryDirectory(), "file");
  writeFileSync(file, content);
  return file;
}

describe("a file that holds a secret", () => {
  const secretOf = (file: string): string[] => {
    const loaded = loadConfig({ SIGNING_SECRET_FILE: file });
    return loaded.ok ? loaded.config.signingSecrets : loaded.problems;
  };

  test.each([
    ["whsec_1", "without an end of line"],
    ["whsec_1\n", "with one"],
    ["whsec_1\r\n", "with Windows' one"],
    ["\uFEFFwhsec_1\r\n", "with a byte order mark"],
  ])("is read: %o, %s", (content) => {
    expect(secretOf(fileWith(content))).toEqual(["whsec_1"]);
  });

  test("is refused in one line if it is in UTF-16, empty, blank, too long, or missing", () => {
    const utf16 = Buffer.from("\uFEFFwhsec_1", "utf16le");
    const folder = temporaryDirectory();
    for (const file of [
      fileWith(utf16),
      fileWith(""),
      fileWith("\n"),
      fileWith("s".repeat(65_537)),
      folder,
      join(folder, "none"),
    ])
      expect(secretOf(file)).toEqual([
        expect.stringMatching(/^SIGNING_SECRET_FILE: .*(?:UTF-16|bytes|no secret|ENOENT)/),
      ]);
    expect(secretOf(fileWith("s".repeat(65_536)))).toEqual(["s".repeat(65_536)]);
    for (const blank of [" ", "whsec_\u200B1", Buffer.from([0xef, 0xbf, 0xbd, 0x31])])
      expect(secretOf(fileWith(blank))).toEqual([expect.stringContaining("white space")]);
  });

  test.skipIf(process.platform === "win32")("is refused at once if it is a pipe or a device", () => {
    const pipe = join(temporaryDirectory(), "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const file of [pipe, "/dev/zero"]) expect(secretOf(file)[0]).toContain("Name the right file.");
  });

  test("cannot be combined with the variable", () => {
    const SIGNING_SECRET_FILE = fileWith("whsec_1");
    const loaded = loadConfig({ SIGNING_SECRET: "s", SIGNING_SECRET_FILE });
    expect(loaded).toMatchObject({ problems: [expect.stringContaining("Remove one of them.")] });
  });
});

test("the environment takes precedence over .env, which may have a byte order mark", () => {
  const file = fileWith("\uFEFFPORT=4000\r\nHOST=0.0.0.0\r\n");
  expect(readEnvironment({ PORT: "5000" }, file)).toEqual({ PORT: "5000", HOST: "0.0.0.0" });
  expect(readEnvironment({ PORT: "5000" }, `${file}.none`)).toEqual({ PORT: "5000" });
  expect(() => readEnvironment({}, fileWith(Buffer.from("\uFEFFPORT=1", "utf16le")))).toThrow("UTF-16");
});

test.skipIf(process.platform === "win32")(
  "a .env that is a pipe is refused, not left out; /dev/null is none",
  () => {
    const pipe = join(temporaryDirectory(), ".env");
    execFileSync("mkfifo", [pipe]);
    expect(() => readEnvironment({}, pipe)).toThrow("Name the right file.");
    expect(readEnvironment({ PORT: "1" }, "/dev/null")).toEqual({ PORT: "1" });
  },
);

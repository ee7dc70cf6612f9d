import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { createReceiver } from "../../../receiver/index.ts";
import { SIGNATURE_HEADER } from "../../../shared/signature.ts";
import { ROOT } from "../../repository/files.ts";
import { idOf, newBody, SECRET, signatureFor } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

/** Handlers that an app gives as the URL of a module: they run in a process of their own. */

function appWith(word: string) {
  const folder = temporaryDirectory();
  const write = (text: string): void =>
    writeFileSync(
      join(folder, "handlers.ts"),
      `import { spawn } from "node:child_process";
import { defineHandler, PermanentFailure } from "${ROOT}receiver/index.ts";
export const handlers = [
  defineHandler({ name: "say", type: "*", handle: async (): Promise<void> => { console.log("printed"); spawn("sleep", ["30"], { stdio: ["ignore", "inherit", "ignore"] }); throw new PermanentFailure("${text}"); } }),
];`,
    );
  write(word);
  const logged: string[] = [];
  const print = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => print.mockRestore());
  const start = async (file: string) => {
    const receiver = await createReceiver({
      signingSecrets: [SECRET],
      databaseUrl: `sqlite:${join(folder, "receiver.db")}`,
      handlers: pathToFileURL(join(folder, file)),
      logTo: (line) => void logged.push(line),
    });
    onTestFinished(receiver.stop);
    app.stop = receiver.stop;
    return async (): Promise<string | null | undefined> => {
      const body = newBody();
      const headers = { [SIGNATURE_HEADER]: signatureFor(body) };
      await receiver.fetch(new Request("http://app.test/", { method: "POST", body, headers }));
      const event = await until(
        () => receiver.event(idOf(body)),
        (found) => found?.state === "dead",
      );
      return event?.lastError;
    };
  };
  const app = { write, start, logged, printed: print.mock.calls, stop: async () => undefined as void };
  return app;
}

test("a module named by its built file is found as TypeScript, and `logTo` also gets the lines of its process", async () => {
  const app = appWith("one");
  const say = await app.start("handlers.js");
  expect(await say()).toContain("one");
  await until(() => app.logged.some((line) => line.endsWith("\n") && JSON.parse(line)?.handler === "say"));
  expect(app.printed).toEqual([["printed"]]);
  // The program that the handler started still has the pipe.
  await app.stop();
});

test("a missing module is refused, with its URL", async () => {
  await expect(appWith("one").start("handler.js")).rejects.toThrow(/no file file:.*handler\.js.*new URL/);
});

test("in development a change of the module takes effect without a restart of the app", async () => {
  vi.stubEnv("NODE_ENV", "development");
  onTestFinished(() => void vi.unstubAllEnvs());
  const app = appWith("one");
  const say = await app.start("handlers.ts");
  expect(await say()).toContain("one");
  app.write("two");
  await until(say, (said) => said?.includes("two") === true);
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { idOf, newBody, post, SECRET } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

/** What lets somebody sign or act as an operator, and where that is done; and what is the handlers' own. */
const SECRETS = { ADMIN_TOKEN: "a-token-of-operators", ADMIN_HOST: "127.0.0.1" };
const OWN = { API_BASE_URL: "https://api.example.com", API_KEY: "key_of_the_service", MINE: "mine" };

test("handlers may be written in any TypeScript, also where no tsconfig.json is, see their own settings alone, and end a job for good", async () => {
  const file = join(temporaryDirectory(), "handlers.ts");
  const { href } = new URL("../../receiver/work/handler.ts", import.meta.url);
  writeFileSync(
    file,
    `import { defineHandler, PermanentFailure } from ${JSON.stringify(href)};
    enum Name { First = "first" }
    const names = ${JSON.stringify([...Object.keys(SECRETS), "SIGNING_SECRET", ...Object.keys(OWN)])};
    const handle = () => {
      throw new PermanentFailure("sees " + names.filter((name) => process.env[name] !== undefined));
    };
    export const handlers = [defineHandler({ name: Name.First, type: "*", handle })];`,
  );
  const { engine, url, logLines } = await startTestReceiver({
    environment: { RECEIVER_ROLE: "all", SIGNING_SECRET: SECRET, ...SECRETS, ...OWN },
    handlersModule: pathToFileURL(file),
  });
  const body = newBody();
  await post(url, body);
  const seen = await until(
    async () => engine.ledger.find(idOf(body)),
    (event) =>
      ((event?.attempts ?? 0) > 0 && event?.state !== "claimed") ||
      logLines.some((line) => line.includes('"problem"')),
  );
  const lastError = `PermanentFailure: sees ${Object.keys(OWN).join()}`;
  expect(seen?.jobs).toMatchObject([{ handler: "first", state: "dead", lastError }]);
});

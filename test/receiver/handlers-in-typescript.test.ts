import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { idOf, newBody, post } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

test("handlers may be written in any TypeScript, also where no tsconfig.json is", async () => {
  const file = join(temporaryDirectory(), "handlers.ts");
  const { href } = new URL("../../receiver/work/handler.ts", import.meta.url);
  writeFileSync(
    file,
    `import { defineHandler } from ${JSON.stringify(href)};
    enum Name { First = "first" }
    export const handlers = [defineHandler({ name: Name.First, type: "*", handle: async () => undefined })];`,
  );
  const { engine, url, logLines } = await startTestReceiver({
    environment: { RECEIVER_ROLE: "all" },
    handlersModule: pathToFileURL(file),
  });
  const body = newBody();
  await post(url, body);
  const seen = await until(
    async () => engine.ledger.find(idOf(body)),
    (event) => event?.state === "done" || logLines.some((line) => line.includes('"problem"')),
  );
  expect(seen?.jobs).toMatchObject([{ handler: "first", state: "done" }]);
});

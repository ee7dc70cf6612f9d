import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../repository/files.ts";
import { newBody } from "../receiver/helpers/events.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { rawRequest, sendRaw } from "../receiver/helpers/raw.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";

/** What the first lines of the app and of the service invite to change. */

/** A copy of the receiver, in which `find` is replaced once in each of these files. */
function changedReceiver(changes: readonly [file: string, find: string, replace: string][]): string {
  const folder = temporaryDirectory();
  for (const part of ["receiver", "shared", "package.json", "tsconfig.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [file, find, replace] of changes) {
    const text = readFileSync(join(folder, file), "utf8");
    expect(text.split(find)).toHaveLength(2);
    writeFileSync(join(folder, file), text.replace(find, replace));
  }
  return folder;
}

const start = async (folder: string) =>
  startProcess({
    entry: join(folder, "receiver/main.mjs"),
    environment: { DATABASE_URL: `sqlite:${join(folder, "receiver.db")}`, RECEIVER_ROLE: "ingest" },
  });

test("middleware in front of the webhook, and routes behind it, are one's own", async () => {
  const folder = changedReceiver([
    [
      "receiver/app.ts",
      "  // The webhook: verified",
      `  app.use((request, response, next) => {
    Object.assign(request, { id: "own-1" });
    response.set("X-Own", "yes");
    next();
  });

  // The webhook: verified`,
    ],
    [
      "receiver/app.ts",
      "  // Everything else.\n",
      `  app.post("/echo", express.json(), (request, response) => void response.json(request.body));
  app.get("/broken", () => {
    throw new Error("of one's own");
  });
  // Everything else.
`,
    ],
  ]);
  const receiver = await start(folder);
  const { url, lines } = receiver;
  const stored = await sendRaw(url, rawRequest(url, { body: newBody() }));
  expect([stored.status, stored.headers.get("x-own")]).toEqual([200, "yes"]);
  const echo = Buffer.from('{"a":1}');
  const headers = [["Content-Type", "application/json"]] as const;
  expect((await sendRaw(url, rawRequest(url, { path: "/echo", body: echo, headers }))).json).toEqual({
    a: 1,
  });
  expect(await sendRaw(url, rawRequest(url, { method: "GET", path: "/broken" }))).toMatchObject({
    status: 500,
    json: { error: "server_error" },
  });
  const answered = () =>
    lines.map((line) => JSON.parse(line) as object).filter((line) => "request_id" in line);
  await expect.poll(answered).toEqual([expect.objectContaining({ request_id: "own-1", result: "stored" })]);
  await receiver.kill();
});

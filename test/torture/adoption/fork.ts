import { join } from "node:path";
import { makeFork } from "../../../tools/fork/fork.ts";
import { newBody, post, signatureFor } from "../../receiver/helpers/events.ts";
import type { Machine } from "./machine.ts";

/** A fork, followed by its README: installed, tested, checked and started, and one event sent to it. */
export async function forkWorks(machine: Machine, kit: string): Promise<string[]> {
  const target = join(machine.folder, "my-receiver");
  const made = makeFork({ kit, target, kitVersion: "torture" });
  if (!made.ok) return [made.message];
  const failed = [
    "npm ci",
    "npm test",
    "npm run check",
    "npm install --package-lock-only && git diff --exit-code",
  ]
    .map((line) => ({ line, ...machine.run(line, target) }))
    .filter(({ status }) => status !== 0);
  if (failed.length > 0) return failed.map(({ line, output }) => `${line}: ${output.slice(-500)}`);

  const secret = "whsec_torture";
  const settings = { SIGNING_SECRET: secret, PORT: "0", ADMIN_PORT: "0" };
  const receiver = await machine.start("npm start", /"msg":"listening"/, target, settings);
  try {
    const url = /"url":"([^"]+)"/.exec(receiver.output())?.[1];
    if (url === undefined) return [`npm start: ${receiver.output().slice(-500)}`];
    const body = newBody();
    const { status } = await post(url, body, signatureFor(body, { secret }));
    return status === 200 ? [] : [`an event was answered ${status}`];
  } finally {
    await receiver.stop();
  }
}

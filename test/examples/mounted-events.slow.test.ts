import { spawn } from "node:child_process";
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { envelopeSchema } from "../../shared/events.ts";
import { freePort } from "../helpers/free-port.ts";
import { newBody, signatureFor } from "../receiver/helpers/events.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { until } from "../receiver/helpers/until.ts";
import { APPS, command } from "./mounted.ts";

test.each(APPS)("an event from %s is handled in a separate process, which ends with the app", async (app) => {
  const port = await freePort();
  const [program, ...words] = command(app);
  const child = spawn(program, words, {
    // Their database is data/receiver.db in that folder.
    cwd: temporaryDirectory(),
    env: { PATH: process.env["PATH"], PORT: String(port), SIGNING_SECRET: "whsec_mounted_example" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let log = "";
  child.stdout.on("data", (bytes: Buffer) => (log += bytes.toString()));
  const origin = `http://127.0.0.1:${String(port)}`;
  const ready = async (): Promise<boolean> =>
    (await fetch(`${origin}/readyz`).catch(() => undefined))?.ok === true;
  await until(ready, Boolean);
  const body = newBody("call.completed");
  const answer = await fetch(`${origin}/webhooks`, {
    method: "POST",
    body,
    headers: { "X-Service-Signature": signatureFor(body, { secret: "whsec_mounted_example" }) },
  });
  expect(await answer.json()).toEqual({ received: true, duplicate: false });
  const handled = async (id: string): Promise<unknown> => (await fetch(`${origin}/handled/${id}`)).json();
  const { id } = envelopeSchema.parse(JSON.parse(String(body)));
  await until(async () => isDeepStrictEqual(await handled(id), { handled: 1, state: "done" }));
  await until(() => log.includes('"msg":"handled"'));
  expect(await handled(id.replace(/.$/, "z"))).toEqual({ handled: 0 });
  expect(await handled("no-id")).toEqual({ handled: 0 });
  expect(await (await fetch(origin)).text()).toBe("The app that was there before.");
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

import { createServer } from "node:http";
import { join } from "node:path";
import express from "express";
import { expect, onTestFinished, test } from "vitest";
import { createReceiver, type ReceiverOptions } from "../../../receiver/index.ts";
import { listen } from "../../helpers/listen.ts";
import { SECRET } from "../helpers/events.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** The operator's page mounted in another app. */

async function mount(options: Pick<ReceiverOptions, "operatorGuard" | "logTo"> = {}): Promise<string> {
  const databaseUrl = `sqlite:${join(temporaryDirectory(), "receiver.db")}`;
  const receiver = await createReceiver({ signingSecrets: [SECRET], databaseUrl, ...options });
  onTestFinished(receiver.stop);
  const app = express().use("/operator", receiver.operator);
  return (await listen(createServer(app))).url;
}

test("is closed for everyone unless the app has a guard", async () => {
  const url = await mount();
  for (const path of ["", "/events", "/confirm?kind=requeue"])
    expect((await fetch(`${url}/operator${path}`)).status).toBe(403);
});

test("admits whoever the guard admits, checked each time", async () => {
  const url = await mount({ operatorGuard: async ({ headers }) => headers.cookie === "session=owner" });
  const open = await fetch(`${url}/operator`, { headers: { cookie: "session=owner" } });
  expect(await open.text()).toContain('href="/operator/events');
  expect((await fetch(`${url}/operator`)).status).toBe(403);
});

test("is closed when the guard fails, and the log says why", async () => {
  const lines: string[] = [];
  const operatorGuard = async () => Promise.reject(new Error("no session store"));
  const url = await mount({ operatorGuard, logTo: (line) => void lines.push(line) });
  expect((await fetch(`${url}/operator`)).status).toBe(500);
  expect(lines.join()).toContain("no session store");
});

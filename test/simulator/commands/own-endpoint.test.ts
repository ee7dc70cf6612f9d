import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { ownEndpoint } from "../../../simulator/commands/own-endpoint.ts";
import type { RunningSimulator } from "../../../simulator/commands/running-simulator.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { freePort } from "../../helpers/free-port.ts";
import { listen } from "../../helpers/listen.ts";
import { openSimulator, temporaryDirectory } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

/** The endpoint that `serve` and `dev` register for the user. */

test("an endpoint that is known keeps its id and secret unless another secret is given", () => {
  const simulator = openSimulator({ clock: "manual" });
  const own = (secret: string | undefined, eventTypes?: string[], url = "http://localhost:9/a") =>
    ownEndpoint({ simulator } as unknown as RunningSimulator, {
      flag: "--to",
      url,
      secret,
      ...(eventTypes && { eventTypes }),
    });
  const other = own("whsec_other", undefined, "http://localhost:9/b").endpoint;
  const first = own(undefined, ["call.completed"]);
  const { id, secret } = first.endpoint;
  expect(first).toMatchObject({ isNew: true, endpoint: { eventTypes: ["call.completed"] } });
  expect(own(undefined)).toMatchObject({
    isNew: false,
    endpoint: { id, secret, eventTypes: ["call.completed"] },
  });
  expect(own(secret, [], "HTTP://localhost:9/a")).toMatchObject({
    isNew: false,
    endpoint: { id, eventTypes: [] },
  });
  const changed = own("whsec_mine");
  expect(changed).toMatchObject({ isNew: true, endpoint: { secret: "whsec_mine" } });
  expect(changed.endpoint.id).not.toBe(id);
  expect(
    simulator.endpoints
      .list()
      .map((one) => one.id)
      .toSorted(),
  ).toEqual([other.id, changed.endpoint.id].toSorted());
  expect(() => own("a b")).toThrow("--to http://localhost:9/a: ");
  expect(simulator.endpoints.list()).toHaveLength(2);
});

test("serve judges what --observe reports of its endpoint; for other machines its links have the token", async () => {
  const [port, token, data] = [await freePort(), "0123456789abcdef", join(temporaryDirectory(), "data.db")];
  const tells = await listen(createServer((_, response) => void response.end('{"handled":2}')));
  const receiver = await startEndpoint();
  const wide = ["--host", "0.0.0.0", "--token", token, "--data", data];
  const options = [
    "--forward-to",
    receiver.url,
    "--secret",
    "whsec_of_my_endpoint_0123456789",
    "--observe",
    `${tells.url}/{id}`,
  ];
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://localhost:${port}/control${path}`, { headers, ...init });
  const serve = async (words: string[], use: () => Promise<void>) => {
    const ended = run("serve", "--port", String(port), ...wide, ...words);
    await vi.waitUntil(async () => (await ask("/clock").catch(() => undefined))?.ok, { timeout: 20_000 });
    await use();
    process.emit("SIGINT");
    return ended;
  };
  const { code, out } = await serve(["--calls", "3", ...options], async () => {
    await ask("/events", { method: "POST", body: '{"type":"call.completed"}' });
    await expect
      .poll(async () => (await ask("/deliveries")).text(), { timeout: 20_000 })
      .toContain('"handled_twice"');
  });
  expect(code).toBe(0);
  expect(out).toContain(`http://localhost:${port}/dashboard?token=${token}`);
  expect(out).toMatch(new RegExp(`Token +${token}`));
  expect(out).toMatch(/Secret +whsec_of_my_endpoint_0123456789/);
  const again = await serve(["--calls", "4", "--forward-to", receiver.url], async () => {});
  expect(again.err).toContain("--calls 4 has no effect");
  expect(again.out).toMatch(/Secret +ends in 6789/);
  expect(again.out).not.toContain("whsec_of_my");
});

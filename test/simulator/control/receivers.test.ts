import { expect, test } from "vitest";
import { openDashboard } from "../../dashboard/open-dashboard.ts";
import { control } from "../../helpers/control.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";

test("open ports are listed, and searched for the webhook path on demand", async () => {
  const receiver = await startEndpoint(401);
  const listener = { host: "127.0.0.1", port: receiver.port };
  const { url } = await openDashboard({ listListeners: async () => [listener] });
  const origin = new URL(url).origin;

  const listed = await control(origin, "GET", "/listeners");
  expect(listed.body).toEqual({
    object: "list",
    data: [{ object: "listener", host: "127.0.0.1", port: receiver.port }],
  });
  expect(receiver.received).toHaveLength(0);

  const probed = await control(origin, "POST", "/listeners/probe", { port: receiver.port });
  expect(probed.body).toMatchObject({ object: "probe", finding: "everywhere", status: 401 });

  const other = await control(origin, "POST", "/listeners/probe", { port: receiver.port === 9 ? 10 : 9 });
  expect(other).toMatchObject({ status: 404, body: { error: "not_found" } });
  expect((await control(origin, "POST", "/listeners/probe", { port: 0 })).status).toBe(400);
});

test("a simulator does not list its own port", async () => {
  const listed: { host: string; port: number }[] = [];
  const { url } = await openDashboard({ listListeners: async () => listed });
  listed.push({ host: "localhost", port: Number(new URL(url).port) });
  expect((await control(new URL(url).origin, "GET", "/listeners")).body).toMatchObject({ data: [] });
});

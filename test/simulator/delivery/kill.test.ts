import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { control } from "../../helpers/control.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { serve } from "../../helpers/process.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { run } from "../commands/in-process.ts";

type Delivery = {
  state: string;
  next_attempt_at: string | null;
  attempts: { number: number; error: string | null; http_status: number | null }[];
};
type Emitted = { deliveries: { id: string }[] };

describe("serve --data, killed with SIGKILL", () => {
  test("in the middle of an attempt: it counts as interrupted, and six are on the wire in all", async () => {
    const endpoint = await startEndpoint((response, count) => {
      if (count !== 3) response.writeHead(500).end();
    });
    const file = join(temporaryDirectory(), "simulator.db");
    const first = await serve(["--data", file, "--clock", "skip", "--forward-to", endpoint.url]);
    const { body } = await control<Emitted>(first.url, "POST", "/events", { type: "call.completed" });
    const id = body.deliveries[0]?.id ?? "";
    await endpoint.until(3);
    expect(await first.kill()).toMatchObject({ signal: "SIGKILL" });

    const second = await serve(["--data", file, "--clock", "skip"]);
    await endpoint.until(6);
    await control(second.url, "POST", "/clock/advance", { until: "idle" });
    const { body: delivery } = await control<Delivery>(second.url, "GET", `/deliveries/${id}`);
    expect(delivery.state).toBe("dead");
    expect(delivery.attempts.map(({ error, http_status: status }) => error ?? status)).toEqual([
      500,
      500,
      "interrupted",
      500,
      500,
      500,
    ]);
    expect(endpoint.received).toHaveLength(6);
    expect(new Set(endpoint.received.map(({ body: bytes }) => bytes.toString("hex"))).size).toBe(1);
    expect(await second.kill("SIGTERM")).toMatchObject({ code: 0 });
  });

  test.runIf(ALL)(
    "while deliveries wait: all of them continue at their times, none is repeated",
    async () => {
      const endpoint = await startEndpoint(500);
      const file = join(temporaryDirectory(), "simulator.db");
      const first = await serve(["--data", file, "--clock", "manual", "--forward-to", endpoint.url]);
      await control(first.url, "POST", "/events", { type: "voicemail.created", count: 10 });
      await control(first.url, "POST", "/clock/advance", { seconds: 60 });
      const list = "/deliveries?state=attempting";
      const before = await control<{ data: Delivery[] }>(first.url, "GET", list);
      await first.kill();
      expect(endpoint.received).toHaveLength(20);

      const second = await serve(["--data", file, "--clock", "manual"]);
      const after = await control<{ data: Delivery[] }>(second.url, "GET", list);
      expect(after.body).toEqual(before.body);
      endpoint.behave(200);
      await control(second.url, "POST", "/clock/advance", { seconds: 299 });
      expect(endpoint.received).toHaveLength(20);
      await control(second.url, "POST", "/clock/advance", { seconds: 1 });
      expect(endpoint.received).toHaveLength(30);
      await control(second.url, "POST", "/clock/advance", { until: "idle" });
      expect(endpoint.received).toHaveLength(30);
    },
  );

  test("is one simulator's file at a time: a second one says so and ends with 3", async () => {
    const file = join(temporaryDirectory(), "simulator.db");
    await using first = await startSimulator({ dataFile: file, calls: 0 });
    expect(await run("serve", "--port", "0", "--data", file)).toMatchObject({
      code: 3,
      err: expect.stringContaining("is in use by another simulator"),
    });
    expect((await fetch(`${first.url}/control/clock`)).status).toBe(200);
  });
});

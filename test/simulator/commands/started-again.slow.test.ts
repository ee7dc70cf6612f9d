import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { verify } from "../../../shared/signature.ts";
import { control } from "../../helpers/control.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { run, serve } from "../../helpers/process.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";

const bannerSchema = z.looseObject({ url: z.string(), secret: z.string().optional() });
const listSchema = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      event_types: z.array(z.string()),
      secret_last4: z.string(),
      url: z.string(),
    }),
  ),
});

test("a restart with a data file updates its endpoint to the current options", async () => {
  const data = join(temporaryDirectory(), "simulator.db");
  // Different spellings of one address.
  const forward = ["--data", data, "--forward-to", "http://LocalHost:9/webhooks"];

  const life = async (...options: string[]) => {
    const running = await serve([...forward, ...options]);
    const { secret } = bannerSchema.parse(JSON.parse(running.out[0] ?? ""));
    const { data: endpoints } = listSchema.parse((await control(running.url, "GET", "/endpoints")).body);
    expect(endpoints).toHaveLength(1);
    await running.kill("SIGINT");
    return { secret, endpoint: endpoints[0] };
  };

  const first = await life("--events", "call.completed");
  expect(first.endpoint?.event_types).toEqual(["call.completed"]);
  expect(first.secret?.slice(-4)).toBe(first.endpoint?.secret_last4);

  // The secret was shown once; the endpoint has the options of this start.
  const second = await life("--events", "order.created,booking.created");
  expect(second.secret).toBeUndefined();
  expect(second.endpoint).toEqual({ ...first.endpoint, event_types: ["order.created", "booking.created"] });
  const third = await life();
  expect(third.endpoint).toEqual({ ...first.endpoint, event_types: [] });

  const another = await life("--secret", "whsec_another_one");
  expect(another.secret).toBe("whsec_another_one");
  expect(another.endpoint?.id).not.toBe(first.endpoint?.id);
  const kept = await life("--secret", "whsec_another_one", "--events", "call.completed");
  expect(kept.endpoint).toEqual({ ...another.endpoint, event_types: ["call.completed"] });
});

test("dev restarted with its data file signs with the secret that it is given now", async () => {
  const data = join(temporaryDirectory(), "simulator.db");
  let secret = "";
  const receiver = await startEndpoint((response, _count, { body, signature }) => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    response
      .writeHead(verify({ headers: [signature], body, secrets: [secret], nowSeconds }).ok ? 200 : 401)
      .end();
  });
  for (secret of ["whsec_first_of_all", "whsec_second_one", "whsec_second_one"]) {
    const options = [
      "--port",
      "0",
      "--calls",
      "0",
      "--data",
      data,
      "--secret",
      secret,
      "--url",
      receiver.url,
    ];
    const { exited, errors, out } = run("simulator/main.ts", ["dev", "--once", ...options]);
    expect({ secret, ...(await exited), said: [...out, ...errors].join("\n") }).toMatchObject({
      secret,
      code: 0,
    });
  }
});

import { expect, test } from "vitest";
import { z } from "zod";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { run } from "../commands/in-process.ts";

/** How many requests `load` makes with its options together, and how many of them repeat an event. */

const idSchema = z.object({ id: z.string() });
const toldSchema = z.object({
  sent: z.number().optional(),
  acknowledged: z.number().optional(),
  duplicates: z.number().optional(),
  steps: z.array(z.object({ rate: z.number(), failed: z.number(), holds: z.boolean() })).optional(),
});

/** One connection: so a request goes out when the one before is answered, however slow the machine is. */
const OPTIONS = ["--secret", "s", "--json", "--connections", "1"];

const CHOICES = [20, 60].flatMap((rate) =>
  ["100ms", "300ms"].flatMap((duration) =>
    [undefined, "50%"].flatMap((duplicates) =>
      [false, true].map((knee) => ({ rate, duration, duplicates, knee })),
    ),
  ),
);

test("as many requests as the rate makes in the time, also in each step of a search for the knee", async () => {
  for (const { rate, duration, duplicates, knee } of CHOICES) {
    // A knee is where it breaks: one that takes nothing breaks at the first rate, which is the one given.
    const receiver = await startEndpoint(knee ? 503 : 200);
    const { code, out } = await run(
      "load",
      receiver.url,
      ...OPTIONS,
      "--rate",
      String(rate),
      "--duration",
      duration,
      ...(duplicates === undefined ? [] : ["--duplicates", duplicates]),
      ...(knee ? ["--knee"] : []),
    );
    const total = (rate * Number.parseInt(duration, 10)) / 1_000;
    // There is nothing to repeat where nothing was acknowledged.
    const repeated = duplicates === undefined || knee ? 0 : Math.floor(total / 2);
    const ids = receiver.received.map(({ body }) => idSchema.parse(JSON.parse(body.toString())).id);
    const told = toldSchema.parse(JSON.parse(out));
    expect({
      rate,
      duration,
      duplicates,
      knee,
      code,
      requests: ids.length,
      events: new Set(ids).size,
      told,
    }).toEqual({
      rate,
      duration,
      duplicates,
      knee,
      code: knee ? 1 : 0,
      requests: total,
      events: total - repeated,
      told: knee
        ? { steps: [{ rate, failed: total, holds: false }] }
        : { sent: total, acknowledged: total, duplicates: repeated },
    });
    await receiver.close();
  }
});

import { createServer } from "node:http";
import { expect, test } from "vitest";
import { z } from "zod";
import { listen } from "../../helpers/listen.ts";
import { startService } from "../../helpers/service.ts";
import { run } from "./in-process.ts";

const reportSchema = z.object({ checks: z.array(z.object({ name: z.string(), message: z.string() })) });

test.each([
  [-100_000, 100],
  [100_000, 100],
  [-7_200_000, 7_200],
])(
  "doctor says by how many seconds a clock that is %i ms ahead differs from ours",
  async (aheadMs, seconds) => {
    const { ask } = await startService();
    const { body: clock } = await ask("GET", "/clock");
    const { url } = await listen(
      createServer((_request, response) => {
        const wallNow = new Date(Date.now() + aheadMs).toISOString();
        response.end(JSON.stringify({ ...clock, wall_now: wallNow }));
      }),
    );
    const { code, out } = await run("doctor", "--simulator", url, "--json");
    const { checks } = reportSchema.parse(JSON.parse(out));
    const said = checks.flatMap(({ message }) => /differ by (\d+) s/.exec(message)?.[1] ?? []).map(Number);
    // A machine that stands still between the two looks is off by that.
    const isRight = said.every((one) => Math.abs(one - seconds) <= 30);
    expect({ code, count: said.length, isRight }).toEqual({
      code: seconds === undefined ? 0 : 1,
      count: seconds === undefined ? 0 : 1,
      isRight: true,
    });
  },
);

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PermanentFailure, type HandlerContext } from "../../../receiver/work/handler.ts";
import { signalled, until } from "../helpers/until.ts";
import { handler, startTestWorker, turns } from "./test-worker.ts";

describe("a drain", () => {
  test("waits for running jobs and starts no more, and jobs that end in time are done", async () => {
    const ending = signalled();
    let listeners = 0;
    const slow = handler("slow", async () => ending.promise);
    const broken = handler("broken", async () => ending.promise.then(() => z.never().parse(1)));
    const { worker, send, job } = await startTestWorker([slow, broken], {
      workerConcurrency: 1,
      jobs: () => ({ onArrival: () => ((listeners += 1), () => void (listeners -= 1)) }),
    });
    const [first = "", second = "", failed = ""] = await send("slow", "slow", "broken");
    await until(worker.running, ({ length }) => length === 2);
    const drained = worker.drain(30_000);
    expect(listeners).toBe(0);
    await turns(5);
    ending.give();
    await drained;
    expect(await job(first, "slow")).toMatchObject({ state: "done" });
    expect(await job(second, "slow")).toMatchObject({ state: "waiting", attempts: 0 });
    expect(await job(failed, "broken")).toMatchObject({ state: "waiting", attempts: 1 });
  });

  let after = signalled();
  test.for<[string, (context: HandlerContext) => Promise<unknown>]>([
    ["goes on", async () => new Promise(() => undefined)],
    [
      "ends with an error when its signal is aborted",
      async ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new PermanentFailure("aborted")));
        }),
    ],
    ["ends after it", async () => after.promise],
  ])("returns the job of a handler that %s, uncounted and due at once", async ([, behave]) => {
    after = signalled();
    const { worker, send, job, ended } = await startTestWorker([handler("slow", behave)]);
    const [id = ""] = await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    await worker.drain(50);
    expect(await job(id, "slow")).toMatchObject({ state: "waiting", attempts: 0, errors: [] });
    after.give();
    await turns(5);
    expect(ended).toEqual([]);
  });

  test("counts a job as done if it returns after its signal was aborted", async () => {
    const returning = handler("slow", async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await turns(200);
    });
    const { worker, send, job } = await startTestWorker([returning]);
    const [id = ""] = await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    await worker.drain(600);
    expect(await job(id, "slow")).toMatchObject({ state: "done" });
  });

  test("returns jobs that were claimed as it began", async () => {
    const claiming = signalled();
    const { worker, send, job } = await startTestWorker([handler("quick")], {
      jobs: (jobs) => ({
        claim: async (...given) => {
          const claimed = await jobs.claim(...given);
          if (claimed.length > 0) await claiming.promise;
          return claimed;
        },
      }),
    });
    const [id = ""] = await send("quick");
    await until(async () => (await job(id, "quick"))?.state === "running");
    const drained = worker.drain(30_000);
    claiming.give();
    await drained;
    expect(await job(id, "quick")).toMatchObject({ state: "waiting", attempts: 0 });
  });

  test("ends even if the database refuses writes", async () => {
    const ending = signalled();
    const { worker, send } = await startTestWorker([handler("slow", async () => ending.promise)], {
      jobs: () => ({ end: () => Promise.reject(new Error("disk I/O error")) }),
    });
    await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    const drained = worker.drain(30_000);
    ending.give();
    await drained;
    expect(worker.running()).toEqual([]);
  });
});

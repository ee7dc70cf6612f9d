import { expect, test } from "vitest";
import { LEASE_MS } from "../../../receiver/engine.ts";
import { done, accept, newEvent } from "../engine-suite/harness.ts";
import { signalled, until } from "../helpers/until.ts";
import { postgresBackend } from "./backend.ts";
import { driven, opened } from "./opened.ts";
import { proxyTo } from "./proxy.ts";

// Half a minute of waiting: the long runs have the time for it.
test(
  "a worker that is cut off from the database loses its event within 31 s of real time, and can't end it",
  { timeout: 90_000 },
  async () => {
    const { url } = await postgresBackend();
    const proxy = await proxyTo(url);
    const cutOff = await opened(proxy.url, { times: { lookMs: 1_000 } });
    const event = newEvent();
    await accept(cutOff, [event]);
    const [claimed, goOn] = [signalled(), signalled()];
    const { handled: late } = await driven(cutOff, async () => {
      claimed.give();
      await goOn.promise;
      return { kind: "done" };
    });
    await claimed.promise;
    proxy.setAway(true);
    const cutAtMs = performance.now();
    const other = await opened(url, { times: { lookMs: 1_000 } });
    const { handled } = await driven(other, done, { workerId: "another" });
    await until(
      () => handled,
      ({ length }) => length > 0,
    );
    const tookMs = performance.now() - cutAtMs;
    expect(tookMs).toBeLessThan(LEASE_MS + 1_500);
    // It was extended at most a third of the lease before the cut.
    expect(tookMs).toBeGreaterThan((LEASE_MS * 2) / 3 - 1_000);
    process.stdout.write(`figure: seconds until it was taken up = ${(tookMs / 1_000).toFixed(1)}\n`);
    proxy.setAway(false);
    goOn.give();
    await until(
      () => late,
      ({ length }) => length > 0,
    );
    expect(late).toMatchObject([{ outcome: "lost" }]);
    expect(await other.ledger.find(event.id)).toMatchObject({ state: "done", handled: 1, attempts: 2 });
  },
);

import { openDatabase } from "../simulator/files/database.ts";
import { DEFAULT_READINGS } from "../simulator/domain/readings.ts";
import { createHistoryIds } from "../simulator/domain/world/history-ids.ts";
import { createWorld, type World } from "../simulator/domain/world/world.ts";

/**
 * The cost of a large history compared with a small one: to start, and to page at the front, in the middle and at the end,
 * with and without a filter. Run it with `node bench/world.ts`.
 */
const SEED = 1;
const SIZES = [1_000, 1_000_000, 10_000_000] as const;
const TURNS = 150;
const WARM_UP = 50;

const ids = createHistoryIds(SEED, "call_");
const worlds = SIZES.map((calls) => ({ calls, ...start(calls) }));

const places: Record<string, (calls: number) => { from: number; limit: number; outcome?: string }> = {
  "100 newest": (calls) => ({ from: calls - 1, limit: 100 }),
  "100 in the middle": (calls) => ({ from: Math.floor(calls / 2), limit: 100 }),
  "100 oldest": () => ({ from: 100 + WARM_UP + TURNS, limit: 100 }),
  "25 voicemail calls in the middle": (calls) => ({
    from: Math.floor(calls / 2),
    limit: 25,
    outcome: "voicemail",
  }),
};

for (const { calls, startMs } of worlds) {
  process.stdout.write(`Start with ${calls.toLocaleString("en")} calls: ${startMs.toFixed(1)} ms\n`);
}
for (const [name, query] of Object.entries(places)) {
  const [base = 0, ...others] = measure(query);
  process.stdout.write(`Page of the ${name}, of ${SIZES[0].toLocaleString("en")}: ${base.toFixed(2)} ms\n`);
  for (const [index, ms] of others.entries()) {
    const size = SIZES[index + 1] ?? 0;
    const ratio = (ms / base).toFixed(2);
    process.stdout.write(`  of ${size.toLocaleString("en")}: ${ms.toFixed(2)} ms, ${ratio} times that\n`);
  }
}

/** The median for each size. The sizes take turns, so that a busy machine slows them all alike. */
function measure(query: (calls: number) => { from: number; limit: number; outcome?: string }): number[] {
  const times = worlds.map((): number[] => []);
  for (let turn = 0; turn < WARM_UP + TURNS; turn += 1) {
    for (const [index, { world, calls }] of worlds.entries()) {
      // Another cursor each time, so that no page is cached.
      const { from, ...rest } = query(calls);
      const orgId = world.organizations()[0]?.organization.id ?? "";
      const startingAfter = ids.encode(0, from - turn);
      const before = performance.now();
      const page = world.calls(orgId, { ...rest, startingAfter });
      const tookMs = performance.now() - before;
      if (!page.ok || page.data.length < rest.limit) throw new Error(`No full page of ${calls} calls.`);
      if (turn >= WARM_UP) times[index]?.push(tookMs);
    }
  }
  return times.map((all) => all.toSorted((left, right) => left - right)[Math.floor(all.length / 2)] ?? 0);
}

function start(calls: number): { world: World; startMs: number } {
  const opened = openDatabase();
  if (!opened.ok) throw new Error(opened.message);
  const before = performance.now();
  const world = createWorld({
    database: opened.database,
    seed: SEED,
    // Half of them belong to the paged organization.
    calls: calls * 2,
    epochMs: Date.UTC(2026, 0, 1),
    readings: () => DEFAULT_READINGS,
    nowMs: () => Date.UTC(2026, 0, 2),
    baseUrl: () => "http://localhost:4010",
  });
  return { world, startMs: performance.now() - before };
}

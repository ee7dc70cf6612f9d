import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { z } from "zod";
import type { LoadResult } from "./load-messages.ts";
import { load } from "./load.ts";
import { metric, startReceiver } from "./receiver-process.ts";
import { median, whole, type Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";
const CONNECTIONS = 64;

/** Seconds of its own load that the background loop may lie behind when the load ends. */
const BACKLOG_SECONDS = 5;

type Contestant = {
  name: string;
  scheme: string;
  start: () => Promise<{ url: string; adminUrl?: string; startMs?: number; stop: () => Promise<void> }>;
};

const peer = (name: string, process: string, scheme = "service"): Contestant => ({
  name,
  scheme,
  start: async () => startPeer(process),
});

const EXPRESS = "Express, only reads the body";
const INGEST = "this receiver, role ingest";
const ALL = "this receiver, role all";

const contestants: readonly Contestant[] = [
  peer(EXPRESS, "express"),
  peer("Express, Stripe's constructEvent", "stripe"),
  peer("octokit's middleware", "octokit", "github"),
  peer("Express, standardwebhooks", "standardwebhooks", "standard"),
  { name: INGEST, scheme: "service", start: async () => startReceiver({ role: "ingest", secret: SECRET }) },
  peer("the same, in front of Express", "mounted-in-front"),
  peer("the same, a route of Express", "mounted-express"),
  peer("the same, a route of Fastify", "mounted-fastify"),
  peer("the same, a route of Hono", "mounted-hono"),
  { name: ALL, scheme: "service", start: async () => startReceiver({ role: "all", secret: SECRET }) },
];

type Measured = LoadResult & { perSecond: number; startMs: number; backlogSeconds: number };

/** Closed loop: every connection sends its next event as soon as the last is answered. Only ours stores what it answers. */
export async function measureAcknowledgements(options: {
  events: number;
  rounds: number;
  report: Report;
}): Promise<void> {
  const { events, rounds, report } = options;
  const measured = new Map(contestants.map(({ name }): [string, Measured[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of contestants) {
      measured.get(contestant.name)?.push(await measure(contestant, events));
    }
  }
  const of = (name: string, figure: (one: Measured) => number): number =>
    median((measured.get(name) ?? []).map(figure));
  const base = of(EXPRESS, ({ perSecond }) => perSecond);

  report.line(
    `Acknowledgements of ${whole(events)} events over ${String(CONNECTIONS)} connections, medians of ${String(rounds)} rounds`,
  );
  report.line(
    `${"".padEnd(36)} ${"events/s".padStart(9)} ${"of Express".padStart(11)} ${"p50".padStart(9)} ${"p99".padStart(9)}`,
  );
  for (const { name } of contestants) {
    const perSecond = of(name, (one) => one.perSecond);
    const ms = (figure: (one: Measured) => number): string => `${of(name, figure).toFixed(1)} ms`.padStart(9);
    report.line(
      `${name.padEnd(36)} ${whole(perSecond).padStart(9)} ${`${(perSecond / base).toFixed(2)}×`.padStart(11)} ${ms(({ p50Ms }) => p50Ms)} ${ms(({ p99Ms }) => p99Ms)}`,
    );
  }
  const ratio = (name: string, figure: (one: Measured) => number): number =>
    of(name, figure) / of(EXPRESS, figure);
  report.held(
    "role ingest, of Express",
    ratio(INGEST, ({ perSecond }) => perSecond),
    { atLeast: 0.5 },
  );
  report.held(
    "role all, of Express",
    ratio(ALL, ({ perSecond }) => perSecond),
    { atLeast: 0.3 },
  );
  report.held(
    "role all, backlog when the load ends, in seconds of load",
    of(ALL, (one) => one.backlogSeconds),
    {
      atMost: BACKLOG_SECONDS,
    },
  );
  report.held(
    "role ingest, p99 in those of Express",
    ratio(INGEST, ({ p99Ms }) => p99Ms),
    { atMost: 4 },
  );
  report.held("start to ready in seconds", of(INGEST, ({ startMs }) => startMs) / 1_000, { atMost: 0.4 });
}

async function measure({ name, scheme, start }: Contestant, events: number): Promise<Measured> {
  const started = await start();
  try {
    const order = { url: started.url, scheme, secret: SECRET, connections: CONNECTIONS };
    await load({ ...order, events: Math.ceil(events / 4) });
    const result = await load({ ...order, events });
    if (result.statuses["200"] !== events)
      throw new Error(`${name} answered ${JSON.stringify(result.statuses)} to ${whole(events)} events.`);
    const perSecond = (events / result.tookMs) * 1_000;
    const backlog = started.adminUrl === undefined ? 0 : await unfinished(started.adminUrl);
    return { ...result, perSecond, startMs: started.startMs ?? 0, backlogSeconds: backlog / perSecond };
  } finally {
    await started.stop();
  }
}

async function unfinished(adminUrl: string): Promise<number> {
  return metric(adminUrl, "receiver_inbox_events", /state="(?:pending|claimed)"/);
}

async function startPeer(name: string): ReturnType<Contestant["start"]> {
  // What a mounted receiver logs is read, as everybody's.
  const child = fork(join(import.meta.dirname, "peer-process.ts"), [name, SECRET], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  child.stdout?.resume();
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${String(z.int().parse(port))}/webhooks`,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}

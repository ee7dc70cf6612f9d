import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { LoadResult } from "./load-messages.ts";
import { load } from "./load.ts";
import { metric, startReceiver } from "./receiver-process.ts";
import { median, whole, type Report } from "./report.ts";

const SECRET = "whsec_bench_0123456789abcdef";
const CONNECTIONS = 64;

/** Seconds of its load that the background loop may be behind when the load ends. */
const BACKLOG_SECONDS = 5;

type Contestant = {
  name: string;
  scheme: string;
  start: () => Promise<{
    url: string;
    pid: number;
    adminUrl?: string;
    startMs?: number;
    stop: () => Promise<void>;
  }>;
};

const peer = (name: string, process: string, scheme = "service"): Contestant => ({
  name,
  scheme,
  start: async () => startPeer(process),
});

const EXPRESS = "Express, only reads the body";
const STRIPE = "Express, Stripe's constructEvent";
const OCTOKIT = "octokit's middleware";
const STANDARD = "Express, standardwebhooks";
/** Endpoints that verify like ours, and store nothing. */
const PEERS = [STRIPE, OCTOKIT, STANDARD];
const INGEST = "this receiver, role ingest";
const ALL = "this receiver, role all";

const contestants: readonly Contestant[] = [
  peer(EXPRESS, "express"),
  peer(STRIPE, "stripe"),
  peer(OCTOKIT, "octokit", "github"),
  peer(STANDARD, "standardwebhooks", "standard"),
  { name: INGEST, scheme: "service", start: async () => startReceiver({ role: "ingest", secret: SECRET }) },
  peer("the same, in front of Express", "mounted-in-front"),
  peer("the same, a route of Express", "mounted-express"),
  peer("the same, a route of Fastify", "mounted-fastify"),
  peer("the same, a route of Hono", "mounted-hono"),
  { name: ALL, scheme: "service", start: async () => startReceiver({ role: "all", secret: SECRET }) },
];

type Measured = LoadResult & {
  perSecond: number;
  startMs: number;
  backlogSeconds: number;
  /** CPU time of the acknowledging process for one event. */
  cpuMicroseconds: number;
};

/** Closed loop: every connection sends its next event when the last one is answered. Only our receiver stores events. */
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
  const perSecondOf = (name: string): number => of(name, ({ perSecond }) => perSecond);
  const slowest = Math.min(...PEERS.map(perSecondOf));
  report.held("role ingest, of Express", perSecondOf(INGEST) / base, { atLeast: 0.55 });
  report.held("role ingest, of the slowest that verifies", perSecondOf(INGEST) / slowest, { atLeast: 1 });
  report.held("role all, of Express", perSecondOf(ALL) / base, { atLeast: 0.4 });
  const backlogSeconds = of(ALL, (one) => one.backlogSeconds);
  report.held("role all, backlog in seconds of load", backlogSeconds, { atMost: BACKLOG_SECONDS });
  const p99 = (name: string): number => of(name, ({ p99Ms }) => p99Ms);
  report.held("role ingest, p99 in those of Express", p99(INGEST) / p99(EXPRESS), { atMost: 2.5 });
  report.held("role all, p99 in those of Express", p99(ALL) / p99(EXPRESS), { atMost: 2.5 });
  const cpuOf = (name: string): number => of(name, ({ cpuMicroseconds }) => cpuMicroseconds);
  report.line(
    `CPU for an event: Express ${cpuOf(EXPRESS).toFixed(0)} µs, ours ${cpuOf(INGEST).toFixed(0)} µs`,
  );
  report.held("role ingest, CPU for an event in that of Express", cpuOf(INGEST) / cpuOf(EXPRESS), {
    atMost: 48 / 25,
  });
  report.held("start to ready in seconds", of(INGEST, ({ startMs }) => startMs) / 1_000, { atMost: 0.35 });
}

async function measure({ name, scheme, start }: Contestant, events: number): Promise<Measured> {
  const started = await start();
  try {
    const order = { url: started.url, scheme, secret: SECRET, connections: CONNECTIONS };
    await load({ ...order, events: Math.ceil(events / 4) });
    const cpuBefore = cpuMicroseconds(started.pid);
    const result = await load({ ...order, events });
    const cpu = (cpuMicroseconds(started.pid) - cpuBefore) / events;
    if (result.statuses["200"] !== events)
      throw new Error(`${name} answered ${JSON.stringify(result.statuses)} to ${whole(events)} events.`);
    const perSecond = (events / result.tookMs) * 1_000;
    const backlog = started.adminUrl === undefined ? 0 : await unfinished(started.adminUrl);
    const { startMs = 0 } = started;
    return { ...result, perSecond, startMs, backlogSeconds: backlog / perSecond, cpuMicroseconds: cpu };
  } finally {
    await started.stop();
  }
}

/** The CPU time of all threads of a process since its start; 0 if the system does not report it. */
function cpuMicroseconds(pid: number): number {
  if (process.platform !== "linux") return 0;
  const tasks = `/proc/${String(pid)}/task`;
  const nanoseconds = readdirSync(tasks).map((thread) =>
    Number(readFileSync(`${tasks}/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1_000;
}

async function unfinished(adminUrl: string): Promise<number> {
  return metric(adminUrl, "receiver_handler_jobs", /state="(?:waiting|running)"/);
}

async function startPeer(name: string): ReturnType<Contestant["start"]> {
  // The log of a mounted receiver is read, as with the others.
  const child = fork(join(import.meta.dirname, "peer-process.ts"), [name, SECRET], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  child.stdout?.resume();
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${String(z.int().parse(port))}/webhooks`,
    pid: child.pid ?? 0,
    stop: async () => {
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}

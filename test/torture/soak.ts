import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import Database from "better-sqlite3";
import { z } from "zod";
import { footprint, look, type Footprint } from "./memory.ts";

/**
 * A receiver and a simulator as users start them, with traffic for so many minutes: each minute the handlers' process is
 * killed, all data is made two days old, and retention deletes it. Memory and descriptors of both must stay flat: the heap
 * strictly, and the system's figures, which depend on the load of the machine, loosely.
 */

const SECRET = "whsec_of_a_long_night";
const DAY_MS = 86_400_000;
/** Triggered events a minute; some cause further events. */
const TRAFFIC_PER_MINUTE = 3_000;
/** How much more the last third of the minutes may use than the middle one. */
const MOST_GROWTH_HELD_MB = 6;
const MOST_GROWTH_MB = 16;
const MOST_NEW_DESCRIPTORS = 8;
/** A shorter run shows nothing about growth. */
const SHORTEST_MINUTES = 6;
/** Prints a tiny decrease as 0.0, not -0.0. */
const TENTHS = new Intl.NumberFormat("en", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  signDisplay: "negative",
});

const { values } = parseArgs({ options: { minutes: { type: "string", default: "30" } } });
const minutes = Math.max(SHORTEST_MINUTES, Math.round(Number(values.minutes)));
const directory = mkdtempSync(join(tmpdir(), "soak-"));
const file = join(directory, "receiver.db");
const environment = {
  ...process.env,
  SIGNING_SECRET: SECRET,
  DATABASE_URL: `sqlite:${file}`,
  RETENTION_DAYS: "1",
  ID_RETENTION_DAYS: "2",
  PORT: "0",
  ADMIN_PORT: "0",
  LOG_LEVEL: "warn",
};

const started: ChildProcess[] = [];
try {
  await soak();
} finally {
  for (const { pid } of started) endGroup(pid);
  rmSync(directory, { recursive: true, force: true });
}

async function soak(): Promise<void> {
  const receiver = await start(["receiver/main.mjs"], { ...environment, LOG_LEVEL: "info" });
  const { url, admin_url: adminUrl } = z
    .object({ url: z.string(), admin_url: z.string() })
    .parse(receiver.said);
  const simulator = await start(
    ["simulator/main.ts", "serve", "--port", "0", "--json", "--calls", "0", "--keep", "10000"].concat([
      "--traffic",
      String(TRAFFIC_PER_MINUTE),
      "--forward-to",
      url,
      "--secret",
      SECRET,
    ]),
    process.env,
  );
  const service = z.object({ url: z.string() }).parse(simulator.said);
  const samples: { receiver: Footprint; simulator: Footprint }[] = [];

  for (let minute = 1; minute <= minutes; minute += 1) {
    await sleep(50_000);
    const [worker] = childrenOf(receiver.pid);
    const sample = {
      receiver: await footprint(receiver.pid, receiver.inspectorUrl),
      simulator: await footprint(simulator.pid, simulator.inspectorUrl),
    };
    samples.push(sample);
    const pruned = prune();
    const said = [
      `receiver ${describe(sample.receiver)}`,
      `handlers ${worker === undefined ? "restarting" : describe(look(worker))}`,
      `simulator ${describe(sample.simulator)}`,
      `pruned ${String(pruned)}`,
    ];
    process.stdout.write(`minute ${String(minute)}: ${said.join("; ")}\n`);
    if (worker !== undefined) process.kill(worker, "SIGKILL");
    await sleep(10_000);
  }

  await stopTraffic(service.url);
  const events = await finished(adminUrl);
  receiver.child.kill("SIGTERM");
  assert.equal(await receiver.exited, 0, "the receiver ends in order");
  const growth = { receiver: growthOf("receiver"), simulator: growthOf("simulator") };
  process.stdout.write(`figure: minutes = ${String(minutes)}\nfigure: events = ${String(events)}\n`);
  for (const [name, { rssMb, heldMb, descriptors }] of Object.entries(growth)) {
    process.stdout.write(
      `figure: growth of the ${name} = ${TENTHS.format(heldMb)} MB held, ${TENTHS.format(rssMb)} MB in all, ${String(descriptors)} descriptors\n`,
    );
    assert.ok(
      heldMb <= MOST_GROWTH_HELD_MB,
      `the ${name} holds ${heldMb.toFixed(1)} MB more after a third of the time`,
    );
    assert.ok(rssMb <= MOST_GROWTH_MB, `the ${name} grows: ${rssMb.toFixed(1)} MB in a third of the time`);
    assert.ok(
      descriptors <= MOST_NEW_DESCRIPTORS,
      `the ${name} keeps ${String(descriptors)} descriptors open`,
    );
  }

  /** The minimum of the last third of the minutes compared with that of the middle one, so that garbage does not count. */
  function growthOf(name: "receiver" | "simulator"): Footprint {
    const third = Math.floor(samples.length / 3);
    const least = (of: typeof samples, what: keyof Footprint): number =>
      Math.min(...of.map((sample) => sample[name][what]));
    const [middle, last] = [samples.slice(third, 2 * third), samples.slice(-third)];
    return {
      rssMb: least(last, "rssMb") - least(middle, "rssMb"),
      heldMb: least(last, "heldMb") - least(middle, "heldMb"),
      descriptors: least(last, "descriptors") - least(middle, "descriptors"),
    };
  }
}

/** Starts a program, and returns its first line of JSON, which has its address. */
async function start(words: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, ["--inspect=127.0.0.1:0", ...words], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  started.push(child);
  const inspector = new Promise<string>((resolve) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      const url = /^Debugger listening on (ws:.+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
      else if (!/^Debugger |^For help, see/.test(line)) process.stderr.write(`${line}\n`);
    });
  });
  const exited = new Promise<number | null>((resolve) => void child.once("exit", resolve));
  const said = await new Promise<unknown>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{") && line.includes("url")) resolve(JSON.parse(line));
    });
    child.once("exit", () => reject(new Error(`${words[0] ?? ""} ended before it listened`)));
  });
  return { child, said, exited, pid: child.pid ?? 0, inspectorUrl: await inspector };
}

/** Makes everything two days older, and has the receiver's own command delete it. Returns how many ids are gone. */
function prune(): number {
  const db = new Database(file, { timeout: 5_000 });
  db.prepare("UPDATE events SET received_at_ms = received_at_ms - ?").run(2 * DAY_MS);
  db.close();
  const words = ["receiver/main.mjs", "inbox", "prune", "--json"];
  const { stdout, status, stderr } = spawnSync(process.execPath, words, {
    env: environment,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return z.looseObject({ ids: z.number() }).parse(JSON.parse(stdout)).ids;
}

/** Waits until every job has ended, and returns how many events were stored. */
async function finished(adminUrl: string): Promise<number> {
  for (let tries = 0; tries < 90; tries += 1) {
    const text = await (await fetch(new URL("/metrics", adminUrl))).text();
    const values = (line: RegExp): number[] => [...text.matchAll(line)].map(([, value]) => Number(value));
    const left = values(/^receiver_handler_jobs\{.*state="(?:waiting|running)".*\} (\d+)/gm);
    const stored = values(/^receiver_events_total\{.*result="stored".*\} (\d+)/gm);
    if (left.length > 0 && left.every((jobs) => jobs === 0))
      return stored.reduce((sum, events) => sum + events, 0);
    await sleep(1_000);
  }
  throw new Error("jobs are left that no handler has ended");
}

async function stopTraffic(url: string): Promise<void> {
  const response = await fetch(new URL("/control/traffic", url), {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ per_minute: 0 }),
  });
  assert.equal(response.status, 200, await response.text());
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, "utf8");
  return children.split(" ").filter(Boolean).map(Number);
}

function describe({ rssMb, heldMb, descriptors }: Omit<Footprint, "heldMb"> & Partial<Footprint>): string {
  const held = heldMb === undefined ? "" : ` (${heldMb.toFixed(1)} held)`;
  return `${rssMb.toFixed(0)} MB${held}, ${String(descriptors)} descriptors`;
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

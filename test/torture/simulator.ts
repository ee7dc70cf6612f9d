import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { systemTime } from "../../simulator/domain/wall-time.ts";
import { createSender } from "../../simulator/sender/sender.ts";
import { simulate } from "../simulator/simulation/simulation.ts";

/**
 * The simulator's long runs: the deadline of an attempt in real time, and many more seeds of the simulation than
 * `npm test` has. A factor shortens or lengthens them; 1 is 10,000 seeds, about half an hour.
 */
const factor = Number(process.argv[2] ?? 1);
const SEEDS = Math.max(1, Math.round(10_000 * factor));

const DEADLINE_MS = 10_000;
const TOLERANCE_MS = 50;
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/** How an endpoint behaves, over which scheme, and what becomes of it. */
const ENDPOINTS: {
  name: string;
  scheme: "http" | "https";
  behave: (socket: Socket) => void;
  word: number | "timeout";
}[] = [
  {
    name: "an answer after 9.9 s",
    scheme: "http",
    behave: (socket) => later(9_900, () => socket.write(OK)),
    word: 200,
  },
  {
    name: "an answer after 10.1 s",
    scheme: "http",
    behave: (socket) => later(10_100, () => socket.write(OK)),
    word: "timeout",
  },
  { name: "a stall in the TLS handshake", scheme: "https", behave: () => {}, word: "timeout" },
  { name: "a stall before the answer", scheme: "http", behave: () => {}, word: "timeout" },
  {
    name: "a stall in the headers",
    scheme: "http",
    behave: (socket) => socket.write("HTTP/1.1 200 OK\r\n"),
    word: "timeout",
  },
  { name: "interim answers that drip", scheme: "http", behave: drip, word: "timeout" },
];

async function deadline({ name, scheme, behave, word }: (typeof ENDPOINTS)[number]): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}).resume());
    behave(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { outcome, durationMs } = await createSender({ wall: systemTime, allowedHosts: [] })({
    url: `${scheme}://127.0.0.1:${port}/`,
    headers: {},
    body: Buffer.from("{}"),
    answerMeans: "headers",
    faults: new Set(),
    signal: new AbortController().signal,
  });
  for (const socket of sockets) socket.destroy();
  server.close();
  assert.equal("status" in outcome ? outcome.status : outcome.error, word, name);
  if (word === "timeout")
    assert.ok(Math.abs(durationMs - DEADLINE_MS) <= TOLERANCE_MS, `${name}: ${durationMs} ms`);
  process.stdout.write(`${name}: ${word} after ${durationMs.toFixed(1)} ms\n`);
}

function later(delayMs: number, action: () => void): void {
  systemTime.after(delayMs, action);
}

function drip(socket: Socket): void {
  const more = () => {
    if (socket.writable) socket.write("HTTP/1.1 103 Early Hints\r\n\r\n", () => later(500, more));
  };
  more();
}

await Promise.all(ENDPOINTS.map((endpoint) => deadline(endpoint)));

const totals = { attempts: 0, lives: 0 };
for (let seed = 1; seed <= SEEDS; seed++) {
  const result = await simulate(seed).catch((error: unknown) => {
    process.stdout.write(
      `Again: node --import tsx test/simulator/simulation/main.ts --seeds 1 --from ${seed}\n`,
    );
    throw error;
  });
  totals.attempts += result.attempts;
  totals.lives += result.lives;
  if (seed % 500 === 0) process.stdout.write(`${seed} of ${SEEDS} seeds\n`);
}
process.stdout.write(
  `${SEEDS} seeds: ${totals.attempts} attempts in ${totals.lives} lives, no broken promise\n`,
);

/** Figures of the machine: how long a flood keeps the loop, and what ten thousand rows cost the browser. */
const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "test/simulator/sender/flood.test.ts",
    "test/dashboard/feed.test.ts",
  ],
  { stdio: "inherit", env: { ...process.env, FLOOD_TURNS: "measured", DASHBOARD_FRAMES: "measured" } },
);
if (status !== 0) process.exitCode = 1;

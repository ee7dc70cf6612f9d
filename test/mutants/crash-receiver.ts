// A small receiver that keeps its events in a file, so that it can be killed. MUTANT plants a bug.
import { createHmac } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";

const { PORT, SIGNING_SECRET = "", MUTANT = "", STORE = "" } = process.env;
/** Some bugs show only in unhandled events: then handling starts after this long without a new event. */
const QUIET_MS = /^(?:never-recovers|drops)/.test(MUTANT) ? 1_500 : 0;
const HANDLING_DELAY_MS = MUTANT.includes("marks") ? 0 : 150;
const WORK_MS = 2;
const seen = new Set<string>();
const handled = new Map<string, number>();
const dead = new Set<string>();
const kept: Buffer[] = [];
let lastAt = 0;

if (MUTANT === "does-not-restart" && existsSync(`${STORE}.lock`)) {
  console.error(`${STORE}.lock exists: is another receiver running?`);
  process.exit(1);
}
writeFileSync(`${STORE}.lock`, "");
recover();
process.on("SIGTERM", () => {
  if (MUTANT === "drops-at-sigterm" || (MUTANT === "drops-a-queue" && isFull()))
    for (const id of waiting()) write("dropped", id);
  if (MUTANT === "cuts-at-sigterm") process.exit();
  server.close(() => process.exit());
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("error", () => undefined);
  request.on("end", () => {
    if (request.method === "GET") {
      const id = request.url?.slice("/handled/".length) ?? "";
      const [count, state] = [handled.get(id) ?? 0, dead.has(id) ? "dead" : undefined];
      return response.end(JSON.stringify({ handled: count, ...(MUTANT !== "hides-failures" && { state }) }));
    }
    const body = Buffer.concat(chunks);
    if (MUTANT === "keeps-what-it-read") kept.push(body);
    const [, t = "", v1 = ""] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers["x-service-signature"])) ?? [];
    const expected = createHmac("sha256", SIGNING_SECRET).update(`${t}.`).update(body).digest("hex");
    if (v1 !== expected || Math.abs(Date.now() / 1_000 - Number(t)) > 301)
      return response.writeHead(401).end();
    if (MUTANT === "logs-bodies") console.log(body.toString());
    const envelope = parsed(body);
    if (envelope === undefined) return response.writeHead(400).end();
    const { id, data } = envelope;
    // An event whose object has no id cannot be handled: it is dropped.
    if (data.object.id === undefined && !dead.has(id)) write("dead", id);
    if (data.object.id === undefined) dead.add(id);
    if (MUTANT === "keeps-the-id-first") {
      // The id decides how long, so that a kill interrupts some events.
      const delayMs = 50 + Number.parseInt(id.slice(4, 6), 16);
      if (!seen.has(id)) setTimeout(() => accept(id), delayMs);
      if (!seen.has(id)) write("seen", id);
      seen.add(id);
      return void setTimeout(() => response.end("{}"), delayMs + 50);
    }
    if (seen.has(id)) return response.end("{}");
    seen.add(id);
    if (MUTANT === "answers-copies-early") {
      // Long enough for a kill in between, however busy the machine is.
      return void setTimeout(() => response.end(accept(id)), 1_000);
    }
    if (MUTANT === "answers-before-storing") {
      response.end("{}");
      return void setTimeout(() => accept(id), 2_000);
    }
    if (MUTANT === "stores-when-closed") {
      request.socket.on("close", () => accept(id));
      return response.end("{}");
    }
    accept(id);
    // Every other one waits, so that some are running when the first is answered, however late SIGTERM comes.
    if (MUTANT === "cuts-at-sigterm" && seen.size % 2 === 0)
      return void setTimeout(() => response.end("{}"), 5_000);
    return response.end("{}");
  });
});
server.listen(Number(PORT), "127.0.0.1");

function accept(id: string): string {
  write("stored", id);
  lastAt = performance.now();
  setTimeout(() => handleWhenQuiet(id), Math.max(QUIET_MS, HANDLING_DELAY_MS));
  return "{}";
}

function waiting(): string[] {
  return [...seen].filter((id) => !handled.has(id) && !dead.has(id));
}

function isFull(): boolean {
  return waiting().length > 5;
}

function handleWhenQuiet(id: string): void {
  // A full queue stays full until SIGTERM comes, however late that is.
  const leftMs = MUTANT === "drops-a-queue" && isFull() ? QUIET_MS : lastAt + QUIET_MS - performance.now();
  if (leftMs > 0) setTimeout(() => handleWhenQuiet(id), leftMs);
  else handle(id);
}

function handle(id: string): void {
  if (dead.has(id) || (MUTANT === "stops-at-failure" && dead.size > 0)) return;
  const work = (): void => {
    handled.set(id, (handled.get(id) ?? 0) + 1);
    write("handled", id);
  };
  if (MUTANT === "marks-then-works") {
    write("marked", id);
    setTimeout(work, WORK_MS);
  } else {
    work();
    if (MUTANT === "works-then-marks") setTimeout(() => write("marked", id), WORK_MS);
  }
}

function parsed(body: Buffer) {
  try {
    return JSON.parse(body.toString()) as { id: string; data: { object: { id?: string } } };
  } catch {
    return undefined;
  }
}

/** Appends one line and syncs it, before the answer. */
function write(what: "seen" | "stored" | "handled" | "marked" | "dropped" | "dead", id: string): void {
  if (MUTANT === "memory-only") return;
  const file = openSync(STORE, "a");
  appendFileSync(file, `${what} ${id}\n`);
  fsyncSync(file);
  closeSync(file);
}

function recover(): void {
  const lines = existsSync(STORE) ? readFileSync(STORE, "utf8").trim().split("\n") : [];
  const stored = new Set<string>();
  const marked = new Set<string>();
  const dropped = new Set<string>();
  for (const [what, id = ""] of lines.map((line) => line.split(" "))) {
    if (what === "stored") stored.add(id);
    if (what === "seen") seen.add(id);
    if (what === "marked") marked.add(id);
    if (what === "dropped") dropped.add(id);
    if (what === "dead") dead.add(id);
    if (what === "handled") handled.set(id, (handled.get(id) ?? 0) + 1);
  }
  for (const id of stored) {
    if (MUTANT !== "forgets-ids") seen.add(id);
    const isDone = MUTANT.includes("marks") ? marked.has(id) : handled.has(id);
    if (dropped.has(id)) continue;
    if (MUTANT === "starts-over" ? true : !isDone && MUTANT !== "never-recovers")
      setTimeout(() => handle(id), 1);
  }
}

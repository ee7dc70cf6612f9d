// A receiver on Node's own HTTP server, without any dependency. Start it: node node-http.ts
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { DatabaseSync } from "node:sqlite";

const { PORT = "3000", SIGNING_SECRET = "", DATABASE = "events.db" } = process.env;
if (SIGNING_SECRET === "") throw new Error("Set SIGNING_SECRET to the secret of your endpoint.");

const database = new DatabaseSync(DATABASE);
// FULL: a stored event is on disk, so an event answered with 200 survives a crash.
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;
  CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)`);
const store = database.prepare("INSERT INTO events (id, body) VALUES (?, ?) ON CONFLICT DO NOTHING");
const unhandled = database.prepare("SELECT id, body FROM events WHERE handled = 0");
const done = database.prepare("UPDATE events SET handled = handled + 1 WHERE id = ?");
const find = database.prepare("SELECT handled FROM events WHERE id = ?");

const server = createServer((request, response) => {
  const answered = answerTo(request).catch((error: unknown) => {
    console.error(error); // A full disk, or a connection cut in mid-body: no 2xx, so the service retries.
    return { status: 500, error: "not_stored" };
  });
  void answered.then(({ status, ...body }) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
  );
});
handleEvents();
server.listen(Number(PORT), "127.0.0.1");

async function answerTo(request: IncomingMessage): Promise<{ status: number } & Record<string, unknown>> {
  const [, observed] = /^\/handled\/(\w+)$/.exec(request.url ?? "") ?? []; // For verify --observe.
  if (observed !== undefined) return { status: 200, handled: find.get(observed)?.handled ?? 0 };
  if (request.method !== "POST" || request.url !== "/webhooks") return { status: 404, error: "not_found" };

  // The trap: the signature covers the received bytes. Parsed and reserialised JSON has other bytes, and
  // a string joined from chunks breaks each character that is split between two of them.
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isSigned(String(request.headers["x-service-signature"]), body))
    return { status: 401, error: "signature" };
  const id = eventId(body);
  if (id === undefined) return { status: 400, error: "no_event" };
  store.run(id, body); // A duplicate changes nothing, and is answered like the first.
  setImmediate(handleEvents);
  return { status: 200, received: true };
}

/** Does the work after the answer, which must be sent within ten seconds. At the start, it finishes what a crash interrupted. */
function handleEvents(): void {
  for (const { id = "" } of unhandled.all()) {
    try {
      // Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
      done.run(id);
    } catch (error) {
      console.error(id, error); // It is retried when the next event comes, and does not block later ones.
    }
  }
}

/** SPEC §6 Signature: t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>. */
function isSigned(header: string, body: Buffer): boolean {
  const pairs = header.split(",").map((pair) => pair.split("="));
  const t = pairs.find(([key]) => key === "t")?.[1] ?? "";
  if (!/^\d+$/.test(t) || Math.abs(Math.floor(Date.now() / 1000) - Number(t)) > 300) return false;
  const expected = Buffer.from(
    createHmac("sha256", SIGNING_SECRET).update(`${t}.`).update(body).digest("hex"),
  );
  return pairs.some(([key, v1 = ""]) => {
    const given = Buffer.from(v1);
    return key === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function eventId(body: Buffer): string | undefined {
  try {
    const event: unknown = JSON.parse(body.toString("utf8"));
    const id = typeof event === "object" && event !== null && "id" in event ? event.id : undefined;
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}

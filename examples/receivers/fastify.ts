// A receiver on Fastify with its own parser for JSON, which keeps the bytes.
import { createHmac, timingSafeEqual } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { fastify } from "fastify";

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

const app = fastify();

// The trap: the signature covers the received bytes, and Fastify's own parser keeps only their parsed form. This parser
// returns the bytes. To keep parsed JSON for other routes, register it and this route in their own plugin.
app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_, body, parsed) => parsed(null, body));

app.post("/webhooks", (request, reply) => {
  const { body, headers } = request;
  if (!Buffer.isBuffer(body) || !isSigned(String(headers["x-service-signature"]), body)) {
    return reply.code(401).send({ error: "invalid_signature" });
  }
  const id = eventId(body);
  if (id === undefined) return reply.code(400).send({ error: "no_event" });
  store.run(id, body); // A duplicate changes nothing, and is answered like the first. An error here answers 500.
  setImmediate(handleEvents);
  return reply.send({ received: true });
});

// For verify --observe; leave it out where strangers can reach it.
app.get<{ Params: { id: string } }>("/handled/:id", ({ params }) => ({
  handled: find.get(params.id)?.handled ?? 0,
}));

handleEvents();
await app.listen({ port: Number(PORT), host: "127.0.0.1" });

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

// A receiver on Hono. What the route does is the same in every handler that gets a Request and answers a Response.
import { createHmac, timingSafeEqual } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";

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

const app = new Hono();

app.post("/webhooks", bodyLimit({ maxSize: 1_048_576 }), async (context) => {
  // The trap: the signature covers the received bytes. json() keeps only their parsed form, and text() drops a byte order
  // mark and replaces invalid UTF-8. arrayBuffer() returns the bytes.
  const body = Buffer.from(await context.req.arrayBuffer());
  if (!isSigned(context.req.header("X-Service-Signature") ?? "", body)) {
    return context.json({ error: "invalid_signature" }, 401);
  }
  const id = eventId(body);
  if (id === undefined) return context.json({ error: "no_event" }, 400);
  store.run(id, body); // A duplicate changes nothing, and is answered like the first. An error here answers 500.
  setImmediate(handleEvents);
  return context.json({ received: true });
});

// For verify --observe; leave it out where strangers can reach it.
app.get("/handled/:id", (context) =>
  context.json({ handled: find.get(context.req.param("id"))?.handled ?? 0 }),
);

handleEvents();
serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" });

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

// A correct receiver in Express. The counts are read back at /handled/{event id}.
import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";

const SECRET = process.env.SIGNING_SECRET;
const seen = new Map();
const app = express();

app.get("/handled/:id", (request, response) => {
  response.json({ handled: seen.get(request.params.id) ?? 0 });
});

app.post(
  "/webhooks",
  express.raw({ type: () => true, inflate: false, limit: "2mb" }),
  (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    if (!verified(request.headersDistinct["x-service-signature"] ?? [], body))
      return response.sendStatus(401);
    let event;
    try {
      event = JSON.parse(body.toString("utf8"));
    } catch {
      return response.sendStatus(400);
    }
    if (typeof event?.id !== "string") return response.sendStatus(400);
    if (!seen.has(event.id)) {
      seen.set(event.id, 0);
      setImmediate(() => seen.set(event.id, seen.get(event.id) + 1));
    }
    response.json({ received: true });
  },
);

app.use((error, _request, response, _next) => {
  response.sendStatus(error.status ?? 500);
});

app.listen(Number(process.env.PORT), "127.0.0.1");

function verified(headers, body) {
  if (headers.length !== 1) return false;
  const values = { t: [], v1: [] };
  for (const pair of headers[0].split(",")) {
    const [, key, value] = /^([^=]*)=(.*)$/.exec(pair) ?? [];
    if (key === "t" || key === "v1") values[key].push(value);
  }
  const [t, ...more] = values.t;
  if (t === undefined || more.length > 0 || !/^\d{1,15}$/.test(t)) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(t)) > 300) return false;
  const expected = createHmac("sha256", SECRET).update(`${t}.`).update(body).digest();
  return values.v1.some(
    (v1) => /^[0-9a-f]{64}$/.test(v1) && timingSafeEqual(Buffer.from(v1, "hex"), expected),
  );
}

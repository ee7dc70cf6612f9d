// A correct receiver in Express. The counts are read back at /handled/{event id}.
import express from "express";
import { eventId, verified } from "./signature.ts";

const { PORT, SIGNING_SECRET = "" } = process.env;
const seen = new Map<string, number>();
const app = express();

app.get("/handled/:id", (request, response) => {
  response.json({ handled: seen.get(request.params.id) ?? 0 });
});

const rawBody = express.raw({ type: () => true, inflate: false, limit: "1.5mb" });

app.post("/webhooks", rawBody, (request, response) => {
  const sent: unknown = request.body;
  const body = Buffer.isBuffer(sent) ? sent : Buffer.alloc(0);
  const headers = request.headersDistinct["x-service-signature"] ?? [];
  if (!verified(headers, body, SIGNING_SECRET)) return void response.sendStatus(401);
  const id = eventId(body);
  if (id === undefined) return void response.sendStatus(400);

  if (!seen.has(id)) {
    seen.set(id, 0);
    setImmediate(() => seen.set(id, (seen.get(id) ?? 0) + 1));
  }
  return void response.json({ received: true });
});

app.listen(Number(PORT), "127.0.0.1");

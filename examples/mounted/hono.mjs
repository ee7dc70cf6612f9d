import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createReceiver } from "voice-agent-webhook-kit/receiver";

const receiver = await createReceiver({ handlers: new URL("./handlers.mjs", import.meta.url) });
const app = new Hono();

app.post("/webhooks", (context) => receiver.fetch(context.req.raw));

app.get("/", (context) => context.text("The app that was there before."));
app.get("/readyz", async (context) => {
  const { ready, checks } = await receiver.health();
  return context.json(checks, ready ? 200 : 503);
});
// How often an event was handled, which `verify` asks for.
app.get("/handled/:id", async (context) => context.json(await receiver.handled(context.req.param("id"))));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" });
process.once("SIGTERM", () => {
  server.close(() => void receiver.stop());
  server.closeIdleConnections();
});

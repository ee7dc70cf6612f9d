import express from "express";
import { createReceiver } from "voice-agent-webhook-kit/receiver";

const receiver = await createReceiver({ handlers: new URL("./handlers.mjs", import.meta.url) });
const app = express();

// Before express.json(), which would consume the signed bytes.
app.post("/webhooks", receiver.middleware);
app.use(express.json());

app.get("/", (_request, response) => void response.send("The app that was there before."));
app.get("/readyz", async (_request, response) => {
  const { ready, checks } = await receiver.health();
  response.status(ready ? 200 : 503).json(checks);
});
// How often an event was handled, which `verify` asks for.
app.get("/handled/:id", async ({ params }, response) => {
  response.json(await receiver.handled(params.id));
});

const server = app.listen(process.env.PORT ?? 3000, "127.0.0.1");

// The server closes when all requests are answered, and the receiver finishes its running jobs.
process.once("SIGTERM", () => {
  server.close(() => void receiver.stop());
  server.closeIdleConnections();
});

import fastify from "fastify";
import { createReceiver } from "voice-agent-webhook-kit/receiver";

const receiver = await createReceiver({ handlers: new URL("./handlers.mjs", import.meta.url) });
const app = fastify();

app.post("/webhooks", {
  // Here, since Fastify parses the body right after this hook, and the signature covers the bytes.
  onRequest: async (request, reply) => {
    reply.hijack();
    await receiver.middleware(request.raw, reply.raw);
  },
  handler: () => undefined,
});

app.get("/", () => "The app that was there before.");
app.get("/readyz", async (_request, reply) => {
  const { ready, checks } = await receiver.health();
  return reply.code(ready ? 200 : 503).send(checks);
});
// How often an event was handled, which `verify` asks for.
app.get("/handled/:id", ({ params }) => receiver.handled(params.id));
app.addHook("onClose", () => receiver.stop());

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
process.once("SIGTERM", () => void app.close());

import express from "express";
import { createAdmission } from "../../../receiver/intake/admission.ts";

/** The admission and the body parser alone, so that a small bound can be tried. */
export async function startAdmissionServer(options: {
  maximumHeldBytes: number;
}): Promise<{ port: number; close: () => void }> {
  const app = express();
  app.post(
    "/webhooks",
    createAdmission({
      refuse: (_request, response) => void response.status(503).set("Connection", "close").end(),
      maximumHeldBytes: options.maximumHeldBytes,
    }),
    express.raw({ type: () => true }),
    (_request, response) => void response.status(200).end(),
  );
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

import { Router } from "express";
import { z } from "zod";
import type { Listeners } from "../processes/listeners.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { orRefuse, readBody } from "./answers.ts";

const probeSchema = z.strictObject({ port: z.int().min(1).max(OPTION_BOUNDS.port[1]) });

/** Receivers that are not registered yet: who listens on this machine, and at which path one takes webhooks. */
export function receiverRoutes({ receivers }: Simulator): Router {
  const router = Router();

  router.get("/listeners", async (_request, response) => {
    response.json(listenersView(await receivers.listening()));
  });

  // Sends requests, so that no page of another site may set it off: a POST, as every change is.
  router.post("/listeners/probe", async (request, response) => {
    const { probe } = orRefuse(await receivers.probe(readBody(probeSchema, request).port));
    response.json({ object: "probe", ...probe });
  });

  return router;
}

export function listenersView(listed: Listeners) {
  const data = (listed.ok ? listed.listeners : []).map(({ host, port, program }) => ({
    object: "listener",
    host,
    port,
    program,
  }));
  return { object: "list", data, message: listed.ok ? null : listed.message };
}

import type { Router } from "express";
import { z } from "zod";
import type { Listener } from "../processes/listening.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { orRefuse, readBody } from "./answers.ts";

const probeSchema = z.strictObject({ port: z.int().min(1).max(OPTION_BOUNDS.port[1]) });

/** Receivers that are not registered yet: which usual ports are open, and at which path one of them takes webhooks. */
export function receiverRoutes(router: Router, { receivers }: Simulator): void {
  router.get("/listeners", async (request, response) => {
    const listeners = await receivers.listening();
    response.json(listenersView(listeners.filter(({ port }) => port !== request.socket.localPort)));
  });

  // Sends requests, so that no page of another site may set it off: a POST, as every change is.
  router.post("/listeners/probe", async (request, response) => {
    const { probe } = orRefuse(await receivers.probe(readBody(probeSchema, request).port));
    response.json({ object: "probe", ...probe });
  });
}

export function listenersView(listeners: readonly Listener[]) {
  const data = listeners.map(({ host, port }) => ({ object: "listener", host, port }));
  return { object: "list", data };
}

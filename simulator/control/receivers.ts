import type { Router } from "express";
import { z } from "zod";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Listener } from "../processes/listening.ts";
import { probeReceiver } from "../processes/receiver-probe.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerError, readBody } from "./answers.ts";

const probeSchema = z.strictObject({ port: z.int().min(1).max(OPTION_BOUNDS.port[1]) });

/** Receivers that are not registered yet: which usual ports are open, and at which path one of them takes webhooks. */
export function receiverRoutes(router: Router, { listListeners }: Simulator): void {
  router.get("/listeners", async (request, response) => {
    const listeners = await listListeners();
    response.json(listenersView(listeners.filter(({ port }) => port !== request.socket.localPort)));
  });

  // Sends requests, so that no page of another site may set it off: a POST, as every change is. Only a listed port is asked.
  router.post("/listeners/probe", async (request, response) => {
    const { port } = readBody(probeSchema, request);
    const listener = (await listListeners()).find((known) => known.port === port);
    if (listener === undefined)
      return answerError(response, "not_found", `Nothing listens at port ${port} any more.`);
    response.json({ object: "probe", ...(await probeReceiver(listener)) });
  });
}

export function listenersView(listeners: readonly Listener[]) {
  const data = listeners.map(({ host, port }) => ({ object: "listener", host, port }));
  return { object: "list", data };
}

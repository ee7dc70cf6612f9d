import { Router } from "express";
import { z } from "zod";
import { FAULTS } from "../domain/faults.ts";
import { parseReadings, READINGS } from "../domain/readings.ts";
import type { Simulator } from "../simulator.ts";
import { answerError, answerList, readBody } from "./answers.ts";

const readingsSchema = z.record(z.string(), z.string());
const resetSchema = z.strictObject({ keep_endpoints: z.boolean().default(false) });

/** The rest: organizations with their keys, readings, faults, and a fresh start. */
export function worldRoutes(simulator: Simulator): Router {
  const { world } = simulator;
  const router = Router();

  router.get("/organizations", (_request, response) => {
    const data = world
      .organizations()
      .map(({ organization, apiKey }) => ({ ...organization, api_key: apiKey }));
    answerList(response, data);
  });

  router.get("/readings", (_request, response) => {
    const readings = simulator.readings();
    const current = new Map<string, string>(Object.entries(readings));
    const data = Object.entries(READINGS).map(([name, reading]) => ({
      name,
      choice: current.get(name) ?? reading.default,
      ...reading,
    }));
    answerList(response, data);
  });

  router.patch("/readings", (request, response) => {
    const body = readBody(readingsSchema, request, response);
    if (body === undefined) return;
    const merged = { ...simulator.readings(), ...body };
    const parsed = parseReadings(Object.entries(merged).map(([name, choice]) => `${name}=${choice}`));
    if (!parsed.ok) return answerError(response, 400, "invalid_request", parsed.message);
    simulator.setReadings(parsed.readings);
    response.json(parsed.readings);
  });

  router.get("/faults", (_request, response) => {
    answerList(
      response,
      Object.entries(FAULTS).map(([name, fault]) => ({ name, ...fault })),
    );
  });

  router.post("/reset", async (request, response) => {
    const body = readBody(resetSchema, request, response);
    if (body === undefined) return;
    await simulator.reset({ endpoints: body.keep_endpoints });
    response.json({ reset: true });
  });

  return router;
}

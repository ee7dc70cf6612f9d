import { Router } from "express";
import { z } from "zod";
import type { Simulator } from "../simulator.ts";
import { readBody } from "./answers.ts";

/** More than this a minute is a load test: `load` is made for that. */
const MOST_PER_MINUTE = 60_000;

const trafficSchema = z.strictObject({ per_minute: z.number().min(0).max(MOST_PER_MINUTE) });

/** Calls that come in by themselves: how many a minute; 0 stops them. */
export function trafficRoutes({ traffic }: Simulator): Router {
  const router = Router();
  const view = () => ({ object: "traffic", per_minute: traffic.perMinute() });

  router.get("/traffic", (_request, response) => void response.json(view()));

  router.patch("/traffic", (request, response) => {
    const body = readBody(trafficSchema, request, response);
    if (body === undefined) return;
    traffic.set(body.per_minute);
    response.json(view());
  });

  return router;
}

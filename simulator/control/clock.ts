import { Router } from "express";
import { z } from "zod";
import { SCHEDULE_SECONDS } from "../../shared/retry-policy.ts";
import { CLOCK_MODES } from "../domain/clock.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { readBody, readQuery } from "./answers.ts";
import { clockView, dueView } from "./views.ts";

const LONGEST_ADVANCE_SECONDS = 366 * 24 * 3_600;

const advanceSchema = z.union(
  [
    z.strictObject({ seconds: z.number().min(0).max(LONGEST_ADVANCE_SECONDS) }),
    z.strictObject({ until: z.enum(["idle", "next"]) }),
  ],
  {
    error: `expected { "seconds": 0 to ${LONGEST_ADVANCE_SECONDS} }, { "until": "next" } or { "until": "idle" }`,
  },
);

const aheadSchema = z.strictObject({
  seconds: z.coerce.number().min(0).max(LONGEST_ADVANCE_SECONDS).default(SCHEDULE_SECONDS),
});
const modeSchema = z.strictObject({ mode: z.enum(CLOCK_MODES) });

/** The schedule clock: show it, move it, change its mode. */
export function clockRoutes(simulator: Simulator): Router {
  const { clock } = simulator;
  const router = Router();

  router.get("/clock", (_request, response) => void response.json(clockView(simulator)));

  router.get("/clock/ahead", (request, response) => {
    const query = readQuery(aheadSchema, request);
    const { due, hasMore } = clock.ahead(query.seconds);
    response.json({ object: "list", data: due.map(dueView), has_more: hasMore });
  });

  router.patch("/clock", (request, response) => {
    const body = readBody(modeSchema, request);
    clock.setMode(body.mode);
    response.json(clockView(simulator));
  });

  // Answers when the attempts that fell due have been made, not before.
  router.post("/clock/advance", async (request, response) => {
    const body = readBody(advanceSchema, request);
    if ("seconds" in body) await clock.advance(body.seconds);
    else if (body.until === "idle") await clock.run();
    else await clock.next();
    response.json(clockView(simulator));
  });

  return router;
}

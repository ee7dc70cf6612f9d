import type { Router } from "express";
import { z } from "zod";
import { SCHEDULE_SECONDS } from "../domain/retry-policy.ts";
import { CLOCK_MODES } from "../domain/clock.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { readBody, readQuery } from "./answers.ts";
import { clockView, dueView } from "./views.ts";

const [LEAST, MOST] = OPTION_BOUNDS.advanceSeconds;
const HOW_FAR = `expected { "seconds": ${LEAST} to ${MOST} }, { "until": "next" } or { "until": "idle" }`;

const advanceSchema = z.union(
  [
    z.strictObject({ seconds: z.number().min(LEAST, HOW_FAR).max(MOST, HOW_FAR) }),
    z.strictObject({ until: z.enum(["idle", "next"]) }),
  ],
  HOW_FAR,
);
const aheadSchema = z.strictObject({
  seconds: z.coerce.number().min(LEAST).max(MOST).default(SCHEDULE_SECONDS),
});
const modeSchema = z.strictObject({ mode: z.enum(CLOCK_MODES) });

export function clockRoutes(router: Router, simulator: Simulator): void {
  const { clock } = simulator;
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

  // Answers once the attempts that fell due were made.
  router.post("/clock/advance", async (request, response) => {
    const body = readBody(advanceSchema, request);
    if ("seconds" in body) await clock.advance(body.seconds);
    else if (body.until === "idle") await clock.run();
    else await clock.next();
    response.json(clockView(simulator));
  });
}

import { Router } from "express";
import { EVENT_TYPES } from "../../shared/events.ts";
import { ourProgram } from "../invocation.ts";
import type { Simulator } from "../simulator.ts";
import { VERSION } from "../version.ts";

/** What this simulator is: how its commands are typed here, whether it asks the receiver what it did, and its event types. */
export function aboutRoutes({ verdicts }: Simulator): Router {
  const router = Router();
  router.get("/about", (_request, response) => {
    response.json({
      object: "about",
      version: VERSION,
      command: ourProgram(),
      is_observed: verdicts.isObserved(),
      event_types: EVENT_TYPES,
    });
  });
  return router;
}

import { Router } from "express";
import { ourProgram } from "../invocation.ts";
import type { Simulator } from "../simulator.ts";
import { VERSION } from "../version.ts";

/** What this simulator is: how its commands are typed here, and whether it asks the receiver what it did. */
export function aboutRoutes({ verdicts }: Simulator): Router {
  const router = Router();
  router.get("/about", (_request, response) => {
    response.json({
      object: "about",
      version: VERSION,
      command: ourProgram(),
      is_observed: verdicts.isObserved(),
    });
  });
  return router;
}

import { Router } from "express";
import type { Simulator } from "../simulator.ts";

/** The dashboard, at `/dashboard`. */
export function createDashboard(_simulator: Simulator): Router {
  const router = Router();
  router.get("/", (_request, response) => response.redirect("/dashboard"));
  return router;
}

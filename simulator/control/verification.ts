import { Router } from "express";
import { z } from "zod";
import type { Simulator } from "../simulator.ts";
import { answerRefusal, readBody } from "./answers.ts";
import { verificationView } from "./verification-view.ts";

const selectionSchema = z.strictObject({ only: z.array(z.string()).min(1).optional() });

/** `verify` on the receiver of an endpoint: begin, look, end it early. */
export function verificationRoutes({ verification }: Simulator): Router {
  const router = Router();

  router.post("/endpoints/:id/verify", async (request, response) => {
    const body = readBody(selectionSchema, request, response);
    if (body === undefined) return;
    const started = await verification.start(request.params.id, body);
    if (!started.ok) return answerRefusal(response, started);
    response.status(202).json(verificationView(started.verification));
  });

  router.get("/verification", (_request, response) => {
    const current = verification.current();
    response.json({
      object: "verification_state",
      verification: current === undefined ? null : verificationView(current),
    });
  });

  router.post("/verification/cancel", async (_request, response) => {
    await verification.cancel();
    response.json({ canceled: true });
  });

  return router;
}

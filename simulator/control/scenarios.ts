import { Router } from "express";
import type { Story } from "../domain/stories.ts";
import { parseScenario, type Scenario } from "../domain/world/scenario.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerList, orRefuse } from "./answers.ts";

/** Stories of several events that belong together: list them, add one, set one off. */
export function scenarioRoutes({ stories }: Simulator): Router {
  const router = Router();

  router.get("/scenarios", (_request, response) => {
    answerList(response, stories.list().map(scenarioView));
  });

  router.post("/scenarios", (request, response) => {
    const { scenario } = orRefuse(parseScenario(request.body));
    orRefuse(stories.add(scenario));
    const { name, summary } = scenario;
    response.status(201).json({ object: "scenario", name, summary });
  });

  router.post("/scenarios/:name", (request, response) => {
    response.status(202).json(storyView(orRefuse(stories.tell(request.params.name)).story));
  });

  return router;
}

export function scenarioView({ name, summary, steps }: Scenario) {
  return { object: "scenario", name, summary, events: steps.reduce((sum, { times }) => sum + times, 0) };
}

export function storyView({ scenario, steps, endsAtMs }: Story) {
  const { name, summary } = scenario;
  return { object: "story", name, summary, steps, ends_at: new Date(endsAtMs).toISOString() };
}

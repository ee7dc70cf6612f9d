import type { Router } from "express";
import type { BegunScenario } from "../domain/scenarios.ts";
import { eventsOf, parseScenario, type Scenario } from "../domain/world/scenario.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { answerList, orRefuse } from "./answers.ts";

export function scenarioRoutes(router: Router, { scenarios }: Simulator): void {
  router.get("/scenarios", (_request, response) => {
    answerList(response, scenarios.list().map(scenarioView));
  });

  router.post("/scenarios", (request, response) => {
    const { scenario } = orRefuse(parseScenario(request.body));
    orRefuse(scenarios.add(scenario));
    const { name, summary } = scenario;
    response.status(201).json({ object: "scenario", name, summary });
  });

  router.post("/scenarios/:name", (request, response) => {
    response.status(202).json(storyView(orRefuse(scenarios.begin(request.params.name)).begun));
  });
}

export function scenarioView({ name, summary, steps }: Scenario) {
  return { object: "scenario", name, summary, events: eventsOf(steps) };
}

export function storyView({ scenario, steps, endsAtMs }: BegunScenario) {
  const { name, summary } = scenario;
  const endsAt = new Date(endsAtMs).toISOString();
  return { object: "story", name, summary, steps, events: eventsOf(scenario.steps), ends_at: endsAt };
}

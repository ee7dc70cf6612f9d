import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import { FAULTS } from "../domain/faults.ts";
import { listReadings, parseReadings } from "../domain/readings.ts";
import { ourProgram } from "../text/invocation.ts";
import { VERSION } from "../processes/version.ts";
import { answerList, orRefuse, readBody } from "./answers.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { Router } from "express";
import type { BegunScenario } from "../domain/scenarios.ts";
import { eventsOf, parseScenario, type Scenario } from "../domain/world/scenario.ts";
import type { Simulator } from "../verbs/simulator.ts";

const trafficSchema = z.strictObject({
  per_minute: z.number().min(OPTION_BOUNDS.traffic[0]).max(OPTION_BOUNDS.traffic[1]),
});
const readingsSchema = z.record(z.string(), z.string());
const resetSchema = z.strictObject({ keep_endpoints: z.boolean().default(false) });

/** The simulator as a whole: about, traffic, organizations, readings, faults, reset. */
export function worldRoutes(router: Router, simulator: Simulator): void {
  const { traffic } = simulator;
  router.get("/about", (_request, response) => void response.json(aboutView(simulator)));

  router.get("/traffic", (_request, response) => void response.json(trafficView(simulator)));

  router.patch("/traffic", (request, response) => {
    const body = readBody(trafficSchema, request);
    traffic.set(body.per_minute);
    response.json(trafficView(simulator));
  });

  router.get("/organizations", (_request, response) => {
    answerList(response, organizationsView(simulator));
  });

  router.get("/readings", (_request, response) => {
    answerList(response, readingsView(simulator));
  });

  router.patch("/readings", (request, response) => {
    const body = readBody(readingsSchema, request);
    const merged = { ...simulator.readings(), ...body };
    const assignments = Object.entries(merged).map(([name, choice]) => `${name}=${choice}`);
    const { readings } = orRefuse(parseReadings(assignments));
    simulator.setReadings(readings);
    response.json(readings);
  });

  router.get("/faults", (_request, response) => {
    answerList(response, faultsView());
  });

  router.post("/reset", async (request, response) => {
    const body = readBody(resetSchema, request);
    await simulator.reset({ endpoints: body.keep_endpoints });
    response.json({ reset: true });
  });
}

export function aboutView({ verdicts }: Simulator) {
  return {
    object: "about",
    version: VERSION,
    command: ourProgram(),
    is_observed: verdicts.isObserved(),
    operator_page: verdicts.operatorPage(),
    event_types: EVENT_TYPES,
  };
}

export function trafficView({ traffic }: Simulator) {
  return { object: "traffic", per_minute: traffic.perMinute() };
}

export function organizationsView({ world }: Simulator) {
  return world.organizations().map(({ organization, apiKey }) => ({ ...organization, api_key: apiKey }));
}

export function readingsView(simulator: Simulator) {
  const choices = simulator.readings();
  return listReadings().map(({ name, ...reading }) => ({ name, choice: choices[name], ...reading }));
}

export function faultsView() {
  return Object.entries(FAULTS).map(([name, fault]) => ({ name, ...fault }));
}

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

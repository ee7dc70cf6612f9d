import type { Command } from "commander";

/** Every command, with its line in `--help` and its file. */
const SUMMARIES: Record<string, [summary: string, load: () => Promise<{ default: () => Command }>]> = {
  serve: ["run the whole service: REST API, dashboard, webhook delivery", () => import("./serve.ts")],
  dev: [
    "run the service together with your receiver, and send it every event type",
    () => import("./dev.ts"),
  ],
  verify: ["judge a webhook receiver, in any language", () => import("./verify.ts")],
  create: ["make a receiver to start from, with its tests in CI", () => import("./create.ts")],
  trigger: ["trigger an event in the running simulator", () => import("./trigger.ts")],
  replay: ["resend recorded events, newly signed", () => import("./replay.ts")],
  load: ["measure how many events a second a receiver acknowledges, and how fast", () => import("./load.ts")],
  sign: ["sign a body: the header, or a ready curl", () => import("./sign.ts")],
  explain: ["say why a signature does not verify", () => import("./explain.ts")],
  endpoints: [
    "where events are delivered: list, add, show, change, rotate, remove, test",
    () => import("./endpoints.ts"),
  ],
  events: ["events that happened: list, show", () => import("./events.ts")],
  deliveries: [
    "each event at each endpoint, and how it ended: list, show, resend, jobs",
    () => import("./deliveries.ts"),
  ],
  clock: ["schedule time: show, advance, run, mode", () => import("./clock.ts")],
  readings: ["choices where the specification is silent: list, show, set", () => import("./readings.ts")],
  openapi: ["print the OpenAPI document of the service", () => import("./openapi.ts")],
  health: ["check that a simulator answers, for container health checks", () => import("./health.ts")],
  mcp: ["serve the running simulator to a developer's assistant, over stdio", () => import("./mcp.ts")],
  doctor: ["check that this machine can run the simulator", () => import("./doctor.ts")],
};

export const COMMANDS = Object.entries(SUMMARIES).map(([name, [summary, load]]) => ({
  name,
  summary,
  load: async () => (await load()).default(),
}));

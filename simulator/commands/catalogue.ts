import type { Command } from "commander";

/** Every command, with the line that `--help` shows for it. Its own file says the rest. */
export const COMMANDS: readonly { name: string; summary: string; load: () => Promise<Command> }[] = [
  {
    name: "serve",
    summary: "run the whole service: REST API, dashboard, webhook delivery",
    load: async () => (await import("./serve.ts")).serveCommand(),
  },
  {
    name: "dev",
    summary: "run the service together with your receiver, and send it every event type",
    load: async () => (await import("./dev.ts")).devCommand(),
  },
  {
    name: "verify",
    summary: "judge a webhook receiver, in any language",
    load: async () => (await import("./verify.ts")).verifyCommand(),
  },
  {
    name: "create",
    summary: "make a receiver to start from, with its tests in CI",
    load: async () => (await import("./create.ts")).createCommand(),
  },
  {
    name: "trigger",
    summary: "let something happen in the running simulator, which sends its event",
    load: async () => (await import("./trigger.ts")).triggerCommand(),
  },
  {
    name: "replay",
    summary: "send recorded events again, signed afresh",
    load: async () => (await import("./replay.ts")).replayCommand(),
  },
  {
    name: "load",
    summary: "measure how many events a second a receiver acknowledges, and how fast",
    load: async () => (await import("./load.ts")).loadCommand(),
  },
  {
    name: "sign",
    summary: "sign a body: the header, or a ready curl",
    load: async () => (await import("./sign.ts")).signCommand(),
  },
  {
    name: "explain",
    summary: "say why a signature does not verify",
    load: async () => (await import("./explain.ts")).explainCommand(),
  },
  {
    name: "endpoints",
    summary: "where events are delivered: list, add, show, change, remove, test",
    load: async () => (await import("./endpoints.ts")).endpointsCommand(),
  },
  {
    name: "events",
    summary: "what was emitted: list, show",
    load: async () => (await import("./events.ts")).eventsCommand(),
  },
  {
    name: "deliveries",
    summary: "what was delivered, what was not, and why: list, show, resend",
    load: async () => (await import("./deliveries.ts")).deliveriesCommand(),
  },
  {
    name: "clock",
    summary: "schedule time: show, advance, run, mode",
    load: async () => (await import("./clock.ts")).clockCommand(),
  },
  {
    name: "readings",
    summary: "what the specification leaves open, and how it is read: list, show, set",
    load: async () => (await import("./readings.ts")).readingsCommand(),
  },
  {
    name: "openapi",
    summary: "print the OpenAPI document of the service",
    load: async () => (await import("./openapi.ts")).openapiCommand(),
  },
  {
    name: "health",
    summary: "whether a simulator answers, for the health checks of containers",
    load: async () => (await import("./health.ts")).healthCommand(),
  },
  {
    name: "mcp",
    summary: "serve the running simulator to a developer's assistant, over stdio",
    load: async () => (await import("./mcp.ts")).mcpCommand(),
  },
  {
    name: "doctor",
    summary: "check that this machine can run the simulator",
    load: async () => (await import("./doctor.ts")).doctorCommand(),
  },
];

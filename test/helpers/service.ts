import { onTestFinished } from "vitest";
import { listen, type RunningServer, type ServerOptions } from "../../simulator/service/server.ts";
import type { SimulatorOptions } from "../../simulator/service/compose.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import { control } from "./control.ts";
import { openSimulator } from "./simulator.ts";

/** A simulator with its HTTP server on a free port, closed when the test is over; a bug behind a route fails the test. */
export async function startService(
  options: SimulatorOptions = {},
  server: Partial<ServerOptions> = {},
): Promise<{
  simulator: Simulator;
  server: RunningServer;
  url: string;
  port: number;
  ask: (...request: Ask) => ReturnType<typeof control<Json>>;
}> {
  const simulator = openSimulator(options);
  const bugs: unknown[] = [];
  const listening = await listen(simulator, {
    port: 0,
    host: "127.0.0.1",
    onError: (error) => bugs.push(error),
    ...server,
  });
  if (!listening.ok) throw new Error(listening.message);
  onTestFinished(async () => {
    await listening.server.close();
    if (bugs.length > 0) throw bugs[0];
  });
  const { port } = listening.server;
  const url = `http://127.0.0.1:${port}`;
  return {
    simulator,
    server: listening.server,
    url,
    port,
    ask: (...[method, path, body, headers]) => control<Json>(url, method, path, body, headers),
  };
}

type Ask = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

/** An answer whose shape the test is about to check. */
export type Json = { [field: string]: unknown; data?: Json[]; attempts?: Json[]; [index: number]: Json };

/** The id of the first thing in a list of an answer. */
export function firstId(list: unknown): string {
  const [first] = list as { id: string }[];
  if (first === undefined) throw new Error("The list is empty.");
  return first.id;
}

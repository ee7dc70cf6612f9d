import { fetch } from "undici";
import { z } from "zod";
import { localHostInUrl } from "../../../shared/host.ts";
import type { Config } from "../../config.ts";
import { EXIT, Refused } from "./terminal.ts";
import type { Context } from "./with-engine.ts";

const LONGEST_MS = 4_000;

const readinessSchema = z.looseObject({ checks: z.record(z.string(), z.string()) });

/**
 * `health`, for the health checks of containers: asks the receiver that runs here with the same settings whether it is ready.
 * 0 when it is, 1 with what it lacks when it isn't, 3 when none answers.
 */
export async function health({ config, terminal }: Context): Promise<number> {
  const url = readinessUrl(config);
  const answer = await fetch(url, { signal: AbortSignal.timeout(LONGEST_MS) })
    .then(async (response) => ({ ok: response.ok, body: await response.json() }))
    .catch(() => {
      const problem = `no receiver answers at ${url}. Start it, with the same settings as here.`;
      throw new Refused(problem, EXIT.couldNotRun);
    });
  if (answer.ok) {
    terminal.print("ready");
    return EXIT.ok;
  }
  const told = readinessSchema.safeParse(answer.body);
  const lacking = Object.entries(told.success ? told.data.checks : {}).filter(([, check]) => check !== "ok");
  terminal.print(`not ready: ${lacking.map(([name, check]) => `${name} ${check}`).join(", ")}`);
  return EXIT.somethingIsWrong;
}

/** Where readiness is told: beside the webhooks, or where there are none, at the admin port. */
function readinessUrl({ role, host, port, adminHost, adminPort }: Config): string {
  const [name, number] = role === "worker" ? [adminHost, adminPort] : [host, port];
  return `http://${localHostInUrl(name)}:${String(number)}/readyz`;
}

import type { JobHandler } from "../engine.ts";
import { backoffMs } from "./backoff.ts";
import type { Handler } from "./handler.ts";

/** What a handler has that says nothing of its own: the environment's values. */
export type PolicyDefaults = {
  maximumAttempts: number;
  handlerTimeoutMs: number;
  workerConcurrency: number;
};

/** What an engine has to know of a handler. `clean` takes personal data out of the reason why an event has no key. */
export function jobHandler(
  handler: Handler,
  options: {
    defaults: PolicyDefaults;
    random: () => number;
    clean: (text: string, body: string) => string;
  },
): JobHandler {
  const { defaults } = options;
  const { name, types, migrations, policies, backoffSeconds, hasKey } = handler;
  return {
    name,
    types,
    migrations,
    maximumAttempts: policies.maxAttempts ?? defaults.maximumAttempts,
    backoffMs: (attempt) => ownBackoffMs(backoffSeconds, attempt) ?? backoffMs(attempt, options.random),
    concurrency: Math.min(policies.concurrency ?? defaults.workerConcurrency, defaults.workerConcurrency),
    rateLimit: policies.rateLimit && {
      limit: policies.rateLimit.limit,
      perMs: Math.ceil(policies.rateLimit.perSeconds * 1_000),
    },
    key: hasKey ? (body) => keyOf(handler, body, options.clean) : undefined,
  };
}

/** Milliseconds that one attempt of the handler may take. */
export function timeoutMsOf({ policies }: Handler, defaults: PolicyDefaults): number {
  return policies.timeoutSeconds === undefined ? defaults.handlerTimeoutMs : policies.timeoutSeconds * 1_000;
}

/** Undefined where the handler has no backoff of its own, or its function gave no time: then the usual one counts. */
function ownBackoffMs(backoff: Handler["backoffSeconds"], attempt: number): number | undefined {
  if (backoff === undefined) return undefined;
  try {
    const waitMs = Math.ceil(backoff(attempt) * 1_000);
    return waitMs >= 0 && Number.isSafeInteger(waitMs) ? waitMs : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(handler: Handler, body: string, clean: (text: string, body: string) => string): string {
  try {
    const prepared = handler.prepare(JSON.parse(body));
    if (!prepared.ok) throw new Error(prepared.problem);
    return prepared.key();
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new Error(clean(reason, body), { cause: error });
  }
}

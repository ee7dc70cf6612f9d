import type { Endpoint, Endpoints } from "../domain/endpoints.ts";
import { bareHost, isLoopbackHost } from "../domain/endpoint-url.ts";
import type { Journal } from "../domain/journal.ts";
import type { WallTime } from "../domain/wall-time.ts";
import { EVENT_TYPES, type EventType } from "../../shared/events.ts";
import type { Check } from "../verify/check.ts";
import type { CheckResult, Report } from "../verify/report.ts";
import { notFound, type Refused, refused } from "../domain/refused.ts";
import type { VerdictVerbs } from "./verdicts.ts";

/** Maximum duration of a run; then it ends with its results so far. */
const LONGEST_RUN_MS = 10 * 60 * 1000;
const READY_TIMEOUT_MS = 5_000;

export type Verification = {
  id: number;
  endpointId: string;
  url: string;
  startedAtMs: number;
  /** How many checks there are besides the preflight, and how many are done. */
  total: number;
  done: number;
  /** In the order of completion; passed ones also have their last exchanges. */
  results: CheckResult[];
  /** The shell command that repeats the run. */
  again: Pick<Report, "invocation" | "seed">;
  report: Report | undefined;
  endedAtMs: number | undefined;
};

export type StartedVerification = { ok: true; verification: Verification } | Refused;

/** `verify`, run by this simulator on the receiver of an endpoint: one run at a time, within ten minutes. */
export function createVerificationVerbs(options: {
  endpoints: Endpoints;
  verdicts: Pick<VerdictVerbs, "observerOf">;
  journal: Pick<Journal, "write">;
  wall: WallTime;
  allowedHosts: readonly string[];
  newSeed: () => string;
}) {
  const { endpoints, journal, wall } = options;
  let current: Verification | undefined;
  let complete: Verification | undefined;
  let running: { stop: AbortController; ended: Promise<void> } | undefined;
  let lastId = 0;

  function refusalOf(endpoint: Endpoint): Refused | undefined {
    if (running !== undefined)
      return refused(
        `${current?.url} is being verified: cancel that, or wait until it ends.`,
        "already_running",
      );
    const host = bareHost(new URL(endpoint.url));
    if (isLoopbackHost(endpoint.url) || options.allowedHosts.includes(host)) return undefined;
    return refused(
      `verify sends hundreds of deliveries, forged and broken ones among them, to this machine only, and ${host} is ` +
        `another: start the simulator with --allow-host ${host} if it is yours to test, and never a system in production.`,
    );
  }

  async function run(
    endpoint: Endpoint,
    checks: readonly Check[],
    verification: Verification,
    signal: AbortSignal,
  ): Promise<void> {
    const { verifyReceiver, invocationOf } = await import("../verify/verify-receiver.ts");
    const { urlTemplate: observeUrl } = options.verdicts.observerOf(endpoint.id) ?? {};
    const events = eventsOf(endpoint);
    const given = { url: endpoint.url, allowHosts: options.allowedHosts, events, observeUrl };
    verification.again.invocation = invocationOf(given);
    verification.report = await verifyReceiver({
      ...given,
      secret: endpoint.secret,
      seed: verification.again.seed,
      checks,
      readyTimeoutMs: READY_TIMEOUT_MS,
      failOn: [],
      now: () => wall.nowMs(),
      signal,
      onProgress: ({ done }) => (verification.done = done),
      onResult(result) {
        if (signal.aborted) return;
        verification.results.push(result);
        journal.write({ kind: "check.done", verificationId: verification.id, checkId: result.check.id });
      },
    });
  }

  return {
    /** Begins a run on the receiver of an endpoint: of all checks, or of `only` some groups and ids. */
    async start(
      endpointId: string,
      { only }: { only?: string[] | undefined } = {},
    ): Promise<StartedVerification> {
      // Loaded at the first run. There is no later `await`, so that no second run can begin in between.
      const { selectChecks } = await import("../verify/catalogue.ts");
      const endpoint = endpoints.find(endpointId);
      if (endpoint === undefined) return notFound("endpoint", endpointId);
      const refusal = refusalOf(endpoint);
      if (refusal !== undefined) return refusal;
      const selected = selectChecks({ only, events: eventsOf(endpoint) });
      if (!selected.ok) return selected;
      const verification: Verification = {
        id: ++lastId,
        endpointId,
        url: endpoint.url,
        startedAtMs: wall.nowMs(),
        total: selected.checks.length,
        done: 0,
        results: [],
        again: { seed: options.newSeed(), invocation: { start: "", end: "" } },
        report: undefined,
        endedAtMs: undefined,
      };
      current = verification;
      const stop = new AbortController();
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(LONGEST_RUN_MS)]);
      const ended = run(endpoint, selected.checks, verification, signal).finally(() => {
        running = undefined;
        verification.endedAtMs = wall.nowMs();
        if (verification.report?.incomplete === undefined) complete = verification;
        // A canceled run does not replace the last complete report.
        if (stop.signal.aborted) current = complete ?? verification;
        journal.write({ kind: "verification.changed", verificationId: current?.id ?? verification.id });
      });
      running = { stop, ended };
      journal.write({ kind: "verification.changed", verificationId: verification.id });
      return { ok: true, verification };
    },
    /** The running verification or the last one; a canceled one only if none has completed. */
    current: (): Verification | undefined => current,
    /** Ends the running verification; resolves when it has ended, with whether there was one. */
    async cancel(): Promise<boolean> {
      const run = running;
      run?.stop.abort();
      await run?.ended;
      return run !== undefined;
    },
  };
}

/** What the endpoint has selected; undefined means everything. */
function eventsOf({ eventTypes }: Endpoint): EventType[] | undefined {
  const events = EVENT_TYPES.filter((type) => eventTypes.includes(type));
  return events.length > 0 ? events : undefined;
}

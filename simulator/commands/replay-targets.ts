import type { Envelope } from "../../shared/events.ts";
import { attemptRequest } from "../domain/attempt-request.ts";
import { checkEndpointUrl } from "../domain/endpoint-url.ts";
import type { FaultName } from "../domain/faults.ts";
import { DEFAULT_READINGS } from "../domain/readings.ts";
import { systemTime } from "../domain/wall-time.ts";
import { orUsageError, usageError } from "./command-error.ts";
import { createControlClient, type SimulatorFlags } from "./control-client.ts";
import { emittedSchema, type EmittedShape } from "../domain/shapes.ts";
import { countFirstResults, waitForFirstAttempts } from "./first-attempts.ts";
import type { Output } from "./output.ts";
import type { ReplayResult } from "./replay-report.ts";
import { faultsOf } from "./option-values.ts";
import { wantSecret } from "./secret-option.ts";
import { ourCommand } from "../text/invocation.ts";

export type ReplayTarget = {
  name: string;
  batchSize: number;
  send: (envelopes: readonly Envelope[]) => Promise<ReplayResult[]>;
  /** How the first attempts of the sent events ended, counted by outcome; undefined with `--no-wait`. */
  firstAttempts?: () => Promise<Record<string, number> | undefined>;
  next: () => string;
};

const BATCH_ENVELOPES = 100;
/** With more deliveries than this, polling their state would keep the simulator busy. */
const MOST_WAITED_FOR = 10_000;

/** Through the running simulator, to every endpoint that selected the type, with retries. */
export function simulatorTarget(
  flags: SimulatorFlags & { fault: string[]; wait: boolean },
  output: Output,
): ReplayTarget {
  const client = createControlClient(flags);
  faultsOf(flags.fault);
  const events: EmittedShape["events"] = [];
  const deliveries: EmittedShape["deliveries"] = [];
  return {
    name: flags.simulator,
    batchSize: BATCH_ENVELOPES,
    async send(envelopes) {
      const body = { envelopes, faults: flags.fault };
      const answer = await client.post("/replay", body, emittedSchema);
      events.push(...answer.events);
      deliveries.push(...answer.deliveries);
      return answer.events.map(({ id }) => ({ eventId: id, outcome: "accepted" }));
    },
    async firstAttempts() {
      if (!flags.wait || deliveries.length > MOST_WAITED_FOR) return undefined;
      return countFirstResults(await waitForFirstAttempts(client, { events, deliveries }, output));
    },
    next: () =>
      deliveries.length === 0
        ? `\nNo endpoint receives them. Register one:  ${ourCommand("endpoints add http://localhost:3000/webhooks", flags)}`
        : `\nSee the deliveries:  ${ourCommand("deliveries", flags)}`,
  };
}

const NO_FAULTS: ReadonlySet<FaultName> = new Set();

/** Straight to one address, one attempt each, in order. */
export async function directTarget(
  url: string,
  flags: { secret?: string; fault: string[]; allowHost: string[] },
  signal: AbortSignal,
): Promise<ReplayTarget> {
  const secret = wantSecret(flags.secret);
  const checked = orUsageError(checkEndpointUrl(url, flags.allowHost), `--to ${url}: `);
  if (flags.fault.length > 0)
    throw usageError("--fault needs a running simulator: leave --to out, and register the address there.");
  // Loaded only now: a mistake in the command line is answered at once.
  const { createSender } = await import("../sender/sender.ts");
  const send = createSender({ wall: systemTime, allowedHosts: flags.allowHost });
  const as = {
    url: checked.url,
    secrets: [secret],
    number: 1,
    faults: NO_FAULTS,
    readings: DEFAULT_READINGS,
  };
  return {
    name: url,
    batchSize: 1,
    async send(envelopes) {
      const results: ReplayResult[] = [];
      for (const envelope of envelopes) {
        const body = Buffer.from(JSON.stringify(envelope));
        const request = attemptRequest({ ...as, body, wallNowMs: systemTime.nowMs() });
        const { outcome } = await send({ ...request, faults: NO_FAULTS, answerMeans: "headers", signal });
        results.push({ eventId: envelope.id, outcome: "status" in outcome ? outcome.status : outcome.error });
      }
      return results;
    },
    next: () => "\nEach was sent once. Register the address in a simulator to see the retries too.",
  };
}

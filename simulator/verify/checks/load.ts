import { attempts, burst, copiesAtOnce, taken } from "../attempts.ts";
import type { Runs } from "../check.ts";
import { accepted, allAcknowledged, every, failed, noneAcknowledged } from "../judgement.ts";

/** Whether acknowledgements keep coming when much arrives at once. */
export const loadRuns: Runs = {
  "load.burst": async (context) => {
    const sent = burst(context).map((envelope) => attempts(context, envelope));
    return every(...(await Promise.all(sent)).map(taken));
  },
  "load.burst-at-first": accepted((context) => {
    const note = `One of ${context.timing.burst} at once.`;
    return Promise.all(burst(context).map((envelope) => context.deliver(envelope, { note })));
  }),
  "load.one-event-storm": accepted((context) => copiesAtOnce(context, context.event(), 30)),
  "load.among-forgeries": async (context) => {
    const { deliver, event, timing } = context;
    const note = `Among ${timing.burst} forged ones and five honest ones at once.`;
    const forged = Array.from({ length: timing.burst }, () =>
      deliver(event(), { secret: "not-the-secret", forged: true, note }),
    );
    const honest = Array.from({ length: 5 }, () => attempts(context, event("voicemail.created")));
    return every(...(await Promise.all(honest)).map(taken), noneAcknowledged(await Promise.all(forged)));
  },
  "load.prompt": async ({ deliver, event, timing }) => {
    const note = `One of ${timing.burst} at once.`;
    const sent = Array.from({ length: timing.burst }, () => deliver(event(), { note }));
    const exchanges = await Promise.all(sent);
    const slowest = exchanges.reduce((worst, next) => (next.durationMs > worst.durationMs ? next : worst));
    if (slowest.durationMs <= timing.responseTimeoutMs / 2) return allAcknowledged(exchanges);
    const problem = `The slowest of ${timing.burst} answers took ${Math.round(slowest.durationMs)} ms.`;
    return failed("slow", problem, [slowest]);
  },
};

import { attempts, burst, copiesAtOnce, taken } from "../attempts.ts";
import type { Check } from "../check.ts";
import { accepted, allAcknowledged, checksOf, every, noneAcknowledged } from "../judge.ts";
import { RULES } from "../rules.ts";

const usual: Pick<Check, "spec" | "hint" | "phase"> = {
  spec: RULES.answer,
  hint: "Do nothing but verify and store before you answer. Several deliveries stored in one transaction cost one sync to disk.",
  phase: "alone",
};

/** Whether acknowledgements keep coming when much arrives at once. */
export const loadChecks: Check[] = checksOf("load", usual, {
  burst: {
    title: "acknowledges each delivery of a burst, or its repetition",
    spec: RULES.retries,
    hint: "Answer 503 to what you cannot take now, and take it when it is repeated; forget whatever you refused.",
    run: async (context) => {
      const sent = burst(context).map((envelope) => attempts(context, envelope));
      return every(...(await Promise.all(sent)).map(taken));
    },
  },
  "burst-at-first": {
    title: "acknowledges a burst of deliveries at the first attempt",
    level: "advice",
    run: accepted((context) => {
      const note = `One of ${context.timing.burst} at once.`;
      return Promise.all(burst(context).map((envelope) => context.deliver(envelope, { note })));
    }),
  },
  "one-event-storm": {
    title: "acknowledges one event that arrives thirty times at once",
    level: "advice",
    spec: RULES.duplicates,
    hint: "Duplicates compete for one row: let them wait for each other no longer than a moment.",
    run: accepted((context) => copiesAtOnce(context, context.event(), 30)),
  },
  "among-forgeries": {
    title: "acknowledges honest deliveries among a flood of forged ones",
    spec: RULES.robust,
    hint: "Refuse a forged delivery before it costs anything, and never lock out an address for it: proxies share one.",
    run: async (context) => {
      const { deliver, event, timing } = context;
      const note = `Among ${timing.burst} forged ones and five honest ones at once.`;
      const forged = Array.from({ length: timing.burst }, () =>
        deliver(event(), { secret: "not-the-secret", forged: true, note }),
      );
      const honest = Array.from({ length: 5 }, () => attempts(context, event("voicemail.created")));
      return every(...(await Promise.all(honest)).map(taken), noneAcknowledged(await Promise.all(forged)));
    },
  },
  prompt: {
    title: "answers within half of the time limit under load",
    level: "advice",
    run: async ({ deliver, event, timing }) => {
      const note = `One of ${timing.burst} at once.`;
      const sent = Array.from({ length: timing.burst }, () => deliver(event(), { note }));
      const exchanges = await Promise.all(sent);
      const slowest = exchanges.reduce((worst, next) => (next.durationMs > worst.durationMs ? next : worst));
      if (slowest.durationMs <= timing.responseTimeoutMs / 2) return allAcknowledged(exchanges);
      const problem = `The slowest of ${timing.burst} answers took ${Math.round(slowest.durationMs)} ms.`;
      return { outcome: "failed", problem, exchanges: [slowest] };
    },
  },
});

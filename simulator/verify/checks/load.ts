import { type Envelope, EVENT_TYPES } from "../../../shared/events.ts";
import { attempts, copiesAtOnce, taken } from "../attempts.ts";
import type { Check, CheckContext } from "../check.ts";
import { allAcknowledged, noneAcknowledged, every } from "../judge.ts";
import { RULES } from "../rules.ts";

const LOAD_HINT =
  "Do nothing but verify and store before you answer. Several deliveries stored in one transaction cost one sync to disk.";

/** Whether acknowledgements keep coming when much arrives at once. */
export const loadChecks: Check[] = [
  {
    id: "load.burst",
    title: "acknowledges each delivery of a burst, or its repetition",
    level: "must",
    group: "load",
    spec: RULES.retries,
    hint: "Answer 503 to what you cannot take now, and take it when it is repeated; forget whatever you refused.",
    phase: "alone",
    run: async ({ deliver, event, timing }) => {
      const sent = burst(event, timing).map((envelope) => attempts({ deliver, timing }, envelope));
      return every(...(await Promise.all(sent)).map(taken));
    },
  },
  {
    id: "load.burst-at-first",
    title: "acknowledges a burst of deliveries at the first attempt",
    level: "advice",
    group: "load",
    spec: RULES.answer,
    hint: LOAD_HINT,
    phase: "alone",
    run: async ({ deliver, event, timing }) => {
      const note = `One of ${timing.burst} at once.`;
      const sent = burst(event, timing).map((envelope) => deliver(envelope, { note }));
      return allAcknowledged(await Promise.all(sent));
    },
  },
  {
    id: "load.one-event-storm",
    title: "acknowledges one event that arrives thirty times at once",
    level: "advice",
    group: "load",
    spec: RULES.duplicates,
    hint: "Duplicates compete for one row: let them wait for each other no longer than a moment.",
    phase: "alone",
    run: async (context) => allAcknowledged(await copiesAtOnce(context, context.event(), 30)),
  },
  {
    id: "load.among-forgeries",
    title: "acknowledges honest deliveries among a flood of forged ones",
    level: "must",
    group: "load",
    spec: RULES.robust,
    hint: "Refuse a forged delivery before it costs anything, and never lock out an address for it: proxies share one.",
    phase: "alone",
    run: async ({ deliver, event, timing }) => {
      const note = `Among ${timing.burst} forged ones and five honest ones at once.`;
      const forged = Array.from({ length: timing.burst }, () =>
        deliver(event(), { secret: "not-the-secret", forged: true, note }),
      );
      const honest = await Promise.all(
        Array.from({ length: 5 }, () => attempts({ deliver, timing }, event("voicemail.created"))),
      );
      return every(...honest.map(taken), noneAcknowledged(await Promise.all(forged)));
    },
  },
  {
    id: "load.prompt",
    title: "answers within half of the time limit under load",
    level: "advice",
    group: "load",
    spec: RULES.answer,
    hint: LOAD_HINT,
    phase: "alone",
    run: async ({ deliver, event, timing }) => {
      const exchanges = await Promise.all(
        Array.from({ length: timing.burst }, () =>
          deliver(event(), { note: `One of ${timing.burst} at once.` }),
        ),
      );
      const slowest = exchanges.reduce((worst, next) => (next.durationMs > worst.durationMs ? next : worst));
      if (slowest.durationMs <= timing.responseTimeoutMs / 2) return allAcknowledged(exchanges);
      return {
        outcome: "failed",
        problem: `The slowest of ${timing.burst} answers took ${Math.round(slowest.durationMs)} ms.`,
        exchanges: [slowest],
      };
    },
  },
];

function burst(event: CheckContext["event"], { burst: length }: CheckContext["timing"]): Envelope[] {
  return Array.from({ length }, (_, n) => event(EVENT_TYPES[n % EVENT_TYPES.length]));
}

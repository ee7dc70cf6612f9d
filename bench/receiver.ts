import { parseArgs } from "node:util";
import { measureAcknowledgements } from "./support/acknowledgements.ts";
import { measureAtRest } from "./support/at-rest.ts";
import { measureHandling } from "./support/handling.ts";
import { measureGrowth } from "./support/growth.ts";
import { measureTakeover } from "./support/takeover.ts";
import { createReport } from "./support/report.ts";

/**
 * Compares the receiver with its alternatives: acknowledged and handled events per second, also with a large inbox; start-up
 * time; cost at rest; and how soon a killed worker is replaced. The receiver runs as shipped, with its default log; the
 * others run as their documentation says. All run in turns, so that other load affects them alike. `npm run bench -- receiver
 * --events 5000 --rounds 1 --inbox 100000` makes it shorter, and `--only growth` measures one part: acknowledgements, growth,
 * handling, takeover or at-rest.
 */
const { values } = parseArgs({
  options: {
    events: { type: "string", default: "30000" },
    rounds: { type: "string", default: "5" },
    inbox: { type: "string", default: "5000000" },
    only: { type: "string" },
  },
});
const events = Number(values.events);
const rounds = Number(values.rounds);

const many = Number(values.inbox);

const report = createReport();
const parts = {
  acknowledgements: async () => measureAcknowledgements({ events, rounds, report }),
  growth: async () => measureGrowth({ events, rounds, many, report }),
  // A backlog of some seconds: in the first one, most of a program is still being compiled.
  handling: async () => measureHandling({ events: 2 * events, rounds, report }),
  takeover: async () => measureTakeover({ rounds, report }),
  "at-rest": async () => measureAtRest({ report }),
};
for (const [name, measure] of Object.entries(parts))
  if (values.only === undefined || values.only === name) await measure();
report.conclude();

import { parseArgs } from "node:util";
import { measureAcknowledgements } from "./support/acknowledgements.ts";
import { measureAtRest } from "./support/at-rest.ts";
import { measureHandling } from "./support/handling.ts";
import { measureGrowth, measureSlowDisk } from "./support/hard-times.ts";
import { createReport } from "./support/report.ts";

/**
 * What the receiver is held to, beside what else there is: acknowledgements and handled events a second, also on a slow
 * disk and into a large inbox, the time to start, and what it costs at rest. The receiver runs as users have it, with its default log and everything on; peers run as their documentation
 * has them; all of them in turns, so that whatever else the machine does meets all alike. Run it with
 * `npm run bench -- receiver`; `npm run bench -- receiver --events 5000 --rounds 1 --inbox 100000` makes it shorter, and
 * `--only growth` measures one part: acknowledgements, slow-disk, growth, handling or at-rest.
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
  "slow-disk": async () => measureSlowDisk({ events, rounds, report }),
  growth: async () => measureGrowth({ events, rounds, many, report }),
  // A backlog of some seconds: in the first one, most of a program is still being compiled.
  handling: async () => measureHandling({ events: 2 * events, rounds, report }),
  "at-rest": async () => measureAtRest({ report }),
};
for (const [name, measure] of Object.entries(parts))
  if (values.only === undefined || values.only === name) await measure();
report.conclude();

import { parseArgs } from "node:util";
import { measureAcknowledgements } from "./support/acknowledgements.ts";
import { measureHandling } from "./support/handling.ts";
import { createReport } from "./support/report.ts";

/**
 * What the receiver is held to, beside what else there is: acknowledgements and handled events a second, and the time to
 * start. The receiver runs as users have it, with its default log and everything on; peers run as their documentation
 * has them; all of them in turns, so that whatever else the machine does meets all alike. Run it with
 * `npm run bench -- receiver`; `-- --events 5000 --rounds 1` makes it shorter.
 */
const { values } = parseArgs({
  options: {
    events: { type: "string", default: "30000" },
    rounds: { type: "string", default: "5" },
  },
});
const events = Number(values.events);
const rounds = Number(values.rounds);

const report = createReport();
await measureAcknowledgements({ events, rounds, report });
await measureHandling({ events, rounds, report });
report.conclude();

import { existsSync } from "node:fs";
import { systemClock } from "../../../clock.ts";
import { loadConfig } from "../../../config.ts";
import type { MoveReport } from "./move.ts";
import { EXIT, type Terminal } from "../../../operations/commands/terminal.ts";
import { interruptible } from "../../../operations/commands/interrupt.ts";
import type { Context } from "../../../operations/commands/with-engine.ts";
import { openConfigured } from "../../open.ts";

const MOST_NAMED = 20;

export type MoveOptions = { to: string; finish?: boolean; json?: boolean };

/** Moves the inbox from SQLite to PostgreSQL. Answers 0 when all that could be moved was, and is the same there. */
export async function move({ config, terminal }: Context, options: MoveOptions): Promise<number> {
  const target = loadConfig({ DATABASE_URL: options.to }, { needsSecret: false });
  const url = target.ok ? target.config.databaseUrl : undefined;
  if (url === undefined) {
    terminal.complain("--to takes the address of a PostgreSQL database, such as postgres://host/database.");
    return EXIT.usage;
  }
  const file = config.databaseFile;
  if (file === undefined) {
    terminal.complain(
      "this receiver's inbox is in PostgreSQL already: DATABASE_URL has to name the SQLite file.",
    );
    return EXIT.usage;
  }
  if (!existsSync(file)) {
    terminal.complain(`there is no inbox at ${file}: DATABASE_URL has to name the one that is to be moved.`);
    return EXIT.couldNotRun;
  }
  const finish = options.finish === true;
  // Makes its tables.
  await (await openConfigured({ ...config, databaseFile: undefined, databaseUrl: url })).close();
  const { moveInbox, StillRunning } = await import("./move.ts");
  let moved = 0;
  const report = await interruptible(
    () =>
      terminal.complain(
        `interrupted after ${String(moved)} events. Run it again: it goes on where it stopped.`,
      ),
    async () =>
      moveInbox({
        file,
        url,
        schema: config.databaseSchema,
        backend: config.postgresBackend,
        finish,
        nowMs: systemClock.nowMs,
        onProgress: (events) => {
          moved = events;
          terminal.progress(`${String(events)} events moved`);
        },
      }),
  ).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    terminal.complain(
      error instanceof StillRunning
        ? reason
        : `the move broke off: ${reason}. Run it again: it goes on where it stopped.`,
    );
  });
  if (!report) return EXIT.couldNotRun;
  if (options.json === true) terminal.value(present(report));
  else describe(report, finish, terminal);
  return report.different.length === 0 ? 0 : 1;
}

function present({ alreadyThere, handedOver, ...report }: MoveReport): Record<string, unknown> {
  return { ...report, already_there: alreadyThere, handed_over: handedOver };
}

function describe(report: MoveReport, finish: boolean, terminal: Terminal): void {
  const { moved, alreadyThere, waiting, handedOver, compared, different } = report;
  terminal.print(`${String(moved)} events moved, ${String(alreadyThere)} were there already.`);
  terminal.print(`${String(compared)} compared with their originals, ${String(different.length)} differ.`);
  for (const id of different.slice(0, MOST_NAMED)) terminal.print(`  ${id}`);
  if (!finish) {
    terminal.print(`${String(waiting)} are not handled yet, and stay with this receiver until the end.`);
    terminal.say("Run it again at any time. At last, stop the receiver and run it with --finish.");
    return;
  }
  terminal.print(`${String(handedOver)} were not handled yet, and will be there.`);
  terminal.say(
    "This inbox is closed. Handlers' own tables stay in its work file: copy what you need of them.",
  );
}

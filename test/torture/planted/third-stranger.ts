import type { PlantedBug } from "./planted-bug.ts";

/** What three more slipped in who had seen no test: of 180, those that nothing had noticed. */
export const plantedByThirdStranger: PlantedBug[] = [
  {
    breaks:
      "While another program holds the write lock for long, `inbox requeue` and `inbox prune` hang for ever without a message instead of complaining after 8 s that the database is locked.",
    file: "receiver/engines/sqlite/transactions.ts",
    find: "for (const { reject } of group.length > 0 ? group : queue.splice(0, 1)) reject(error);",
    replace: "for (const { reject } of group) reject(error);",
    tests: ["test/receiver/engines/transactions.test.ts"],
  },
  {
    breaks:
      "With DATABASE_URL=sqlite:data/inbox (no extension) the receiver refuses to start after the update: it looks for data/inbox.work and says that the work file, data/inbox.work.db, is gone.",
    file: "receiver/engines/sqlite/work-file.ts",
    find: '`.work${extension || ".db"}`',
    replace: "`.work${extension}`",
    tests: ["test/receiver/engines/work-file.test.ts"],
  },
  {
    breaks:
      "Handlers that fill buffers get past HANDLER_MEMORY_MEGABYTES and take the memory of the machine.",
    file: "receiver/work/worker.ts",
    find: '    const { heapUsed, external } = process.memoryUsage();\n    tell({ kind: "alive", ended, memoryBytes: heapUsed + external });',
    replace:
      '    const { heapUsed } = process.memoryUsage();\n    tell({ kind: "alive", ended, memoryBytes: heapUsed });',
    tests: ["test/receiver/worker-alive.test.ts"],
  },
  {
    breaks:
      'After retention has pruned events, the overview says that "-1,200 came and -1,200 ended a minute".',
    file: "receiver/operations/page/overview.ts",
    find: "grouped(Math.round((Math.max(0, of(now.counts) - of(before.counts)) * 60) / seconds));",
    replace: "grouped(Math.round(((of(now.counts) - of(before.counts)) * 60) / seconds));",
    tests: ["test/receiver/page-views.test.ts"],
  },
  {
    breaks:
      "Dead letters of two handlers with the same error are one row under the name of the first, and its Requeue button leaves out the other's.",
    file: "receiver/operations/page/dead-letters.ts",
    find: "const key = `${job.handler}\\n${error}`;",
    replace: "const key = error;",
    tests: ["test/receiver/page-views.test.ts"],
  },
  {
    breaks:
      "On a disk that hangs longer than 8 s events are counted out twice, so that the bound on waiting events and bytes no longer holds afterwards: memory grows where `overloaded` should be answered.",
    file: "receiver/intake/group-commit.ts",
    find: "if (waiting.delete(held)) release(held);",
    replace: "waiting.delete(held);\n    release(held);",
    tests: ["test/receiver/group-commit.test.ts"],
  },
  {
    breaks:
      "An app that has called receiver.stop() does not end by itself for another 13 s: the timer of the drain is still there.",
    file: "receiver/clock.ts",
    find: "  try {\n    return await Promise.race([work, late]);\n  } finally {\n    over.abort();\n  }",
    replace: "  return Promise.race([work, late]);",
    tests: ["test/receiver/clock.test.ts"],
  },
  {
    breaks:
      "With a manual clock that lags behind the wall, time that was advanced with nothing due is lost after a kill -9: schedule time runs backwards.",
    file: "simulator/domain/memory.ts",
    find: 'if (kind === "event.created" || kind === "clock.changed") remember();',
    replace: 'if (kind === "event.created") remember();',
    tests: ["test/simulator/delivery/told.test.ts"],
  },
  {
    breaks:
      "The Sunset header of --api-faults deprecation is no HTTP date, so clients that read it by RFC 8594 cannot.",
    file: "simulator/api/faults.ts",
    find: "sunset: new Date(nowMs + NOTICE_MS).toUTCString(),",
    replace: "sunset: new Date(nowMs + NOTICE_MS).toISOString(),",
    tests: ["test/simulator/api/faults.test.ts"],
  },
  {
    breaks:
      "A dashboard tab that reads too slowly stays among the stream's clients after it was dropped: the next clock message writes to an ended response and throws.",
    file: "simulator/control/stream.ts",
    find: '      stop();\n      session.push("{}", "reset"',
    replace: '      session.push("{}", "reset"',
    tests: ["test/simulator/control/stream.test.ts"],
  },
  {
    breaks:
      "Ctrl-C on `serve --traffic 30` leaves the timer of the next call, which keeps the process alive and then fails on a closed database.",
    file: "simulator/compose.ts",
    find: "      traffic.set(0);\n",
    replace: "",
    tests: ["test/simulator/domain/traffic.test.ts"],
  },
  {
    breaks:
      "startSimulator() on a port that is taken throws but leaves its data file locked and its timers running, so a second try with the same dataFile is refused.",
    file: "simulator/library/start.ts",
    find: "    await simulator.close();\n    throw new Error(listening.message);",
    replace: "    throw new Error(listening.message);",
    tests: ["test/simulator/commands/given-back.test.ts"],
  },
  {
    breaks:
      "A complete replay with --resume in which something failed keeps its state file, so the same command afterwards sends nothing.",
    file: "simulator/commands/replay.ts",
    find: "    state?.remove();\n    if (report.failed() > 0) return EXIT.checkFailed;",
    replace: "    if (report.failed() > 0) return EXIT.checkFailed;\n    state?.remove();",
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    breaks:
      "`dev --once` without a command gives up after 30 ms, exit code 3, instead of waiting 30 s for a receiver that starts.",
    file: "simulator/commands/dev.ts",
    find: "AbortSignal.timeout(flags.readyTimeout * 1000)",
    replace: "AbortSignal.timeout(flags.readyTimeout)",
    tests: ["test/simulator/commands/dev.test.ts"],
  },
  {
    breaks:
      "`load` counts a request whose connection was reset as acknowledged when the one before on that connection was.",
    file: "simulator/load/lane.ts",
    find: "      onEnd = then;\n      status = 0;",
    replace: "      onEnd = then;",
    tests: ["test/simulator/load/run.test.ts"],
  },
  {
    breaks:
      "`verify --skip wrie` with a typo is taken without a word, and runs the group that was to be left out.",
    file: "simulator/verify/catalogue.ts",
    find: "for (const pattern of [...(selection.only ?? []), ...(selection.skip ?? [])]) {",
    replace: "for (const pattern of selection.only ?? []) {",
    tests: ["test/verify/selection-pairs.test.ts"],
  },
  {
    breaks:
      "An event whose first forgery was accepted and whose second was refused is judged again by effects.ledger, which fails for what another check has told already.",
    file: "simulator/verify/ledger.ts",
    find: "entry.forgeryAccepted ||= isAcknowledged(exchange);",
    replace: "entry.forgeryAccepted = isAcknowledged(exchange);",
    tests: ["test/verify/ledger.test.ts"],
  },
  {
    breaks:
      "A receiver whose certificate is wrong gets the verdict failed (exit 1) and 'accepts connections, but', instead of could not run (exit 3).",
    file: "simulator/verify/preflight.ts",
    find: '["dns", "refused", "tls"].includes(outcome.error)',
    replace: '["dns", "refused"].includes(outcome.error)',
    tests: ["test/verify/refusals-explained.test.ts"],
  },
  {
    breaks: "Log lines written while a page is being flushed stay invisible until something else is logged.",
    file: "receiver/operations/log.ts",
    find: "      output.write(Buffer.from(line));\n      hasMore = true;\n",
    replace: "      output.write(Buffer.from(line));\n",
    tests: ["test/receiver/log-pages.test.ts"],
  },
  {
    breaks:
      "An invisible character beyond the first plane (such as a tag character) is shown as half of its escape: the JSON of a log or command means another text.",
    file: "shared/printable.ts",
    find: "character.replaceAll(/[^]/g, (unit)",
    replace: "character.replaceAll(/[^]/gu, (unit)",
    tests: ["test/shared/printable.test.ts"],
  },
  {
    breaks: "signed_bytes counts characters: for a body with an é it is too small.",
    file: "simulator/control/signature-view.ts",
    find: "parsed.timestamp.length + 1 + body.byteLength",
    replace: "parsed.timestamp.length + 1 + text.length",
    tests: ["test/simulator/control/signature-view.test.ts"],
  },
  {
    breaks:
      "`serve --data FILE --forward-to http://localhost:3000` registers its endpoint once more at each start, so that the receiver gets each event twice, with another secret.",
    file: "simulator/commands/serve.ts",
    find: "endpoints.list().find((endpoint) => endpoint.url === new URL(url).href)",
    replace: "endpoints.list().find((endpoint) => endpoint.url === url)",
    tests: ["test/simulator/commands/serve.test.ts"],
  },
  {
    breaks: "A problem that names the token twice gives it away to the assistant the second time.",
    file: "simulator/mcp/tools.ts",
    find: 'message.replaceAll(token, "…")',
    replace: 'message.replace(token, "…")',
    tests: ["test/simulator/mcp/mcp.test.ts"],
  },
  {
    breaks: "A receiver that answers 503 while it boots fails crash.burst after the restart.",
    file: "simulator/verify/kill-rounds.ts",
    find: "    await firstAfterRestart(own);\n    const retried",
    replace: "    const retried",
    tests: ["test/verify/waits.test.ts"],
  },
];

import type { PlantedBug } from "./planted-bug.ts";

/** What somebody slipped in who knew the code and the contract, and had seen no test; none of them was noticed then. */
export const plantedByStranger: PlantedBug[] = [
  {
    breaks: "A list.",
    file: "receiver/engines/sqlite/queries.ts",
    find: "      if (rows.length === 0) return found;",
    replace: "      if (rows.length < SCAN) return found;",
    tests: ["test/receiver/engines/sqlite.test.ts"],
  },
  {
    breaks:
      "When the handler whose job crashed the process is removed from the code, its suspect job stays pending for ever instead of ending as ignored.",
    file: "receiver/engines/sqlite/handlers.ts",
    find: "'pending', 'suspect') AND handler",
    replace: "'pending') AND handler",
    tests: ["test/receiver/engines/sqlite.test.ts"],
  },
  {
    breaks:
      "The histogram of acknowledgement times, which is in seconds, is fed with milliseconds: alerts on slow acknowledgements fire on a healthy receiver.",
    file: "receiver/intake/webhook.ts",
    find: "    metrics.received(receipt, (clock.monotonicMs() - arrivedAtMs) / 1_000);",
    replace: "    metrics.received(receipt, clock.monotonicMs() - arrivedAtMs);",
    tests: ["test/receiver/webhook.test.ts"],
  },
  {
    breaks:
      "After `inbox requeue --handler NAME` of an event that no handler had wanted, the row that says so remains: the event counts as ignored beside its job, and the counts of done/ignored are off by one.",
    file: "receiver/engines/sqlite/ledger-verbs.ts",
    find: "const REMOVE_IGNORED = `DELETE FROM jobs WHERE job = ? AND (state = 'dead' OR state = 'ignored')`;",
    replace: "const REMOVE_IGNORED = `DELETE FROM jobs WHERE job = ? AND state = 'dead'`;",
    tests: ["test/receiver/engines/sqlite.test.ts"],
  },
  {
    breaks: '"Requeue all that match" on a list filtered by type requeues the events of all types.',
    file: "receiver/operations/page/events.ts",
    find: 'requeueForm(Object.entries(filter), "Requeue all that match …")}',
    replace:
      'requeueForm([["state", filter.state], ["handler", filter.handler]], "Requeue all that match …")}',
    tests: ["test/receiver/operator-page.test.ts"],
  },
  {
    breaks:
      "The overview's column Newest shows the oldest dead letter of each group, and beyond 5,000 the newest are the ones left out.",
    file: "receiver/operations/page/dead-letters.ts",
    find: '  for await (const events of pagesOf(ledger, { state: "dead" }, "newest first")) {',
    replace: '  for await (const events of pagesOf(ledger, { state: "dead" }, "oldest first")) {',
    tests: ["test/receiver/operator-page.test.ts"],
  },
  {
    breaks:
      "After `inbox run` of a handler that ignores its deadline the attempt is reported as failed, but the job is given back uncounted and without its error.",
    file: "receiver/operations/commands/inbox-run.ts",
    find: "    await loop.drain(0, stuck);",
    replace: "    await loop.drain(0);",
    tests: ["test/receiver/inbox-run.test.ts"],
  },
  {
    breaks:
      "At the limit of connections a new one cuts a request that is just arriving, though idle keep-alive connections are there to give way.",
    file: "shared/listener/connections.ts",
    find: "      oldest(({ inFlight }) => inFlight === 0) ??\n      oldest(isReceiving) ??",
    replace: "      oldest(isReceiving) ??\n      oldest(({ inFlight }) => inFlight === 0) ??",
    tests: ["test/receiver/connections.test.ts"],
  },
  {
    breaks:
      "A call of 0 seconds makes the whole page malformed: reconcile stops there, and a typed handler or unwrap refuses the event.",
    file: "shared/resources.ts",
    find: "  duration_sec: z.int().nonnegative(),",
    replace: "  duration_sec: z.int().positive(),",
    tests: ["test/shared/contract.test.ts"],
  },
  {
    breaks:
      "The filter state=failed also lists deliveries whose first attempt is just under way and has not failed.",
    file: "simulator/domain/delivery-summaries.ts",
    find: "  d.state = 'dead' OR d.state = 'attempting' AND d.attempts_made > (d.next_attempt_at IS NULL) AS has_failed`;",
    replace: "  d.state = 'dead' OR d.state = 'attempting' AND d.attempts_made > 0 AS has_failed`;",
    tests: ["test/simulator/control/recover.test.ts"],
  },
  {
    breaks:
      "POST /control/reset with --clock skip never answers while a retry waits: the paused dispatcher spins on the clock and tells nobody that all is settled.",
    file: "simulator/domain/dispatcher.ts",
    find: '    if (nextMs !== undefined && clock.mode === "skip" && !walk.isUnderWay() && !isPaused) {',
    replace: '    if (nextMs !== undefined && clock.mode === "skip" && !walk.isUnderWay()) {',
    tests: ["test/simulator/control/recover.test.ts"],
  },
  {
    breaks:
      "Replaying envelopes of another organization to one named endpoint that has an org_id delivers nothing and still says ok.",
    file: "simulator/domain/emitter.ts",
    find: "        const to = only ? [{ ...only, eventTypes: [], orgId: null }] : endpoints.list();",
    replace: "        const to = only ? [{ ...only, eventTypes: [] }] : endpoints.list();",
    tests: ["test/simulator/delivery/endpoints.test.ts"],
  },
  {
    breaks:
      "With the faults delay, reorder or duplicate a delivery's created_at lies in the future, so lists by since/until and the newest-first search, which stops at the first older row, miss deliveries.",
    file: "simulator/domain/fan-out.ts",
    find: "        createdAtMs: dueAtMs,\n        dueAtMs: atMs,",
    replace: "        createdAtMs: atMs,\n        dueAtMs: atMs,",
    tests: ["test/simulator/delivery/faults-together.test.ts"],
  },
  {
    breaks:
      "A run against a receiver that cannot be reached gives a JUnit file with skips alone and no error, which a CI shows as green.",
    file: "simulator/verify/reports/junit.ts",
    find: '  if (verdict !== "incomplete" && verdict !== "could_not_run") return undefined;',
    replace: '  if (verdict !== "incomplete") return undefined;',
    tests: ["test/verify/made.test.ts"],
  },
  {
    breaks:
      "--report junit=out/run=3/verify.xml is written to out/run: what stands after a second = is lost.",
    file: "simulator/verify/reports/targets.ts",
    find: '    const file = rest.join("=");',
    replace: '    const file = rest[0] ?? "";',
    tests: ["test/verify/reports.test.ts"],
  },
  {
    breaks:
      "GET /control/history and the dashboard's strip count attempts that are still under way as failed.",
    file: "simulator/domain/history.ts",
    find: "      failed: ended - acknowledged,",
    replace: "      failed: sent - acknowledged,",
    tests: ["test/simulator/control/recover.test.ts"],
  },
  {
    breaks: "With latency=…,errors=… the failing answers come at once, though every answer takes that long.",
    file: "simulator/api/faults.ts",
    find: '      if (latencyMs > 0) await wait(latencyMs);\n      if (fails) return "error";',
    replace: '      if (fails) return "error";\n      if (latencyMs > 0) await wait(latencyMs);',
    tests: ["test/simulator/api/faults.test.ts"],
  },
  {
    breaks:
      "`replay --to … --fault duplicate-concurrently` sends the copy only after the first one's answer, so it finds no race in the receiver.",
    file: "simulator/replay/direct-target.ts",
    find: "    const first = attempt(body);",
    replace: "    const first = await attempt(body);",
    tests: ["test/simulator/commands/replay.test.ts"],
  },
  {
    breaks:
      "A receiver whose --observe URL never answers hangs the observation for good where a signal is given.",
    file: "simulator/observer/observer.ts",
    find: "        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),",
    replace: "        signal: signal ?? limit,",
    tests: ["test/simulator/observer/observer.test.ts"],
  },
  {
    breaks:
      'trigger and replay answer before an attempt that is due now but not yet begun, and print "later" in place of its result.',
    file: "simulator/commands/first-attempts.ts",
    find: "  return first === undefined ? due === null || due <= now : first.ended_at === null;",
    replace: "  return first === undefined ? due === null : first.ended_at === null;",
    tests: ["test/simulator/commands/first-attempts.test.ts"],
  },
  {
    breaks:
      "Once the oldest delivery of an event is trimmed, its call or voicemail vanishes from the REST API although other deliveries of the event.",
    file: "simulator/domain/retention.ts",
    find: "    if (removeEvent.run(eventId).changes > 0) removeItems.run(eventId);",
    replace: "    removeEvent.run(eventId);\n    removeItems.run(eventId);",
    tests: ["test/simulator/delivery/retention.test.ts"],
  },
  {
    breaks:
      "On a kept connection the second chunked answer is never recognised as whole, so attempts and load with keep-alive time out against receivers that answer chunked.",
    file: "simulator/sender/answer-parser.ts",
    find: '      phase = "head";\n      chunkPart = "size";\n      partial = undefined;',
    replace: '      phase = "head";\n      partial = undefined;',
    tests: ["test/simulator/sender/answer-parser.test.ts"],
  },
  {
    breaks:
      "A client that takes gzip alone gets the brotli bytes that somebody else asked for first, labelled gzip, and the dashboard stays blank.",
    file: "simulator/dashboard/router.ts",
    find: "    const key = `${name} ${encoding}`;",
    replace: "    const key = name;",
    tests: ["test/dashboard/serving.test.ts"],
  },
  {
    breaks:
      "When the last stream closes within 150 ms of a delivery's change, later streams never hear of the clock and counts again.",
    file: "simulator/control/stream.ts",
    find: "      clearTimeout(clockTimer);\n      clockTimer = undefined;",
    replace: "      clearTimeout(clockTimer);",
    tests: ["test/simulator/control/stream.test.ts"],
  },
];

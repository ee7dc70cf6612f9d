import type { PlantedBug } from "./planted-bug.ts";

/** What two more slipped in who knew the code and the contract, and had seen no test; none of these was noticed then. */
export const plantedBySecondStranger: PlantedBug[] = [
  {
    breaks:
      "Attempts that ended in the last second before the handlers' process ends are missing in receiver_handling_seconds.",
    file: "receiver/work/worker.ts",
    find: "    await Promise.race([closing, closed]);\n    tellAlive();\n",
    replace: "    await Promise.race([closing, closed]);\n",
    tests: ["test/receiver/worker-alive.test.ts"],
  },
  {
    breaks: "A full disk of PostgreSQL is logged and counted as `overloaded` instead of `full`.",
    file: "receiver/engines/postgres/connection.ts",
    find: '  if (state === "53100") return "full";\n  if (state.startsWith("53")) return "overloaded";',
    replace: '  if (state.startsWith("53")) return "overloaded";\n  if (state === "53100") return "full";',
    tests: ["test/receiver/postgres/refusals.test.ts"],
  },
  {
    breaks:
      "Of two deliveries with the same id in one batch, the later body is stored and the first is answered as the duplicate.",
    file: "receiver/engines/postgres/intake.ts",
    find: "keys.map((key, n) => [key, n] as const).toReversed()",
    replace: "keys.map((key, n) => [key, n] as const)",
    tests: ["test/receiver/engines/postgres.test.ts"],
  },
  {
    breaks:
      "A receiver that shuts down because of a bug exits with 0, so that a supervisor that restarts on failure leaves it down.",
    file: "receiver/operations/commands/start.ts",
    find: "return isStopped && !err ? EXIT.ok : EXIT.somethingIsWrong;",
    replace: "return isStopped ? EXIT.ok : EXIT.somethingIsWrong;",
    tests: ["test/receiver/signals.test.ts"],
  },
  {
    breaks:
      "receiver_handler_jobs keeps the last numbers of handlers that are gone, and of all while the database cannot be asked.",
    file: "receiver/operations/metrics.ts",
    find: "    ofHandler.reset();\n",
    replace: "",
    tests: ["test/receiver/metrics.test.ts"],
  },
  {
    breaks: "Where one secret is a part of another, logs show the rest of the longer one behind [redacted].",
    file: "receiver/operations/secrets.ts",
    find: "toSorted((left, right) => right.length - left.length)",
    replace: "toSorted((left, right) => left.length - right.length)",
    tests: ["test/receiver/secrets.test.ts"],
  },
  {
    breaks:
      "While a receiver shuts down, its admin port is closed at once, so that nobody can see /readyz, metrics or the inbox until it has stopped.",
    file: "receiver/receiver.ts",
    find: "    await Promise.all([receiver.drain(), listening.server?.drain(receiver.graceMs)]);\n    await listening.admin?.drain(0);\n",
    replace:
      "    await listening.admin?.drain(0);\n    await Promise.all([receiver.drain(), listening.server?.drain(receiver.graceMs)]);\n",
    tests: ["test/receiver/admin.test.ts"],
  },
  {
    breaks:
      "A header with one good and one malformed v1 makes verification throw, so that the receiver answers 500 instead of 401.",
    file: "shared/signature.ts",
    find: "if (!digests.every((hex) => DIGEST.test(hex)))",
    replace: "if (!digests.some((hex) => DIGEST.test(hex)))",
    tests: ["test/shared/signature.test.ts"],
  },
  {
    breaks:
      "On a Node.js that is too old the programs say so and go on, until better-sqlite3 dies with a segmentation fault.",
    file: "shared/node-version.ts",
    find: "process.exit(EXIT_CONFIGURATION);",
    replace: "process.exitCode = EXIT_CONFIGURATION;",
    tests: ["test/shared/node-minimum.test.ts"],
  },
  {
    breaks:
      "After a reading such as limit_out_of_range is changed on a running simulator, pages asked for before are still answered by the old reading.",
    file: "simulator/api/resources.ts",
    find: "version: () => [...world.version(), readings()]",
    replace: "version: () => world.version()",
    tests: ["test/simulator/api/page-cache.test.ts"],
  },
  {
    breaks: "`load --rate` exits with 0 though events were not sent because too many were waiting.",
    file: "simulator/commands/load.ts",
    find: "return acknowledged === sent && dropped === 0 ? EXIT.ok : EXIT.checkFailed;",
    replace: "return acknowledged === sent ? EXIT.ok : EXIT.checkFailed;",
    tests: ["test/simulator/commands/load.test.ts"],
  },
  {
    breaks:
      "A simulator on port 80 refuses every browser and client with misdirected_request, since they send Host without a port.",
    file: "simulator/server.ts",
    find: "    if (port === 80) ownHosts.add(host);\n",
    replace: "",
    tests: ["test/simulator/control/guards.test.ts"],
  },
  {
    breaks:
      "A receiver that takes a while and handles an event a second time right after the first passes verify: the counts are read as soon as all are handled.",
    file: "simulator/verify/settle.ts",
    find: "  for (;;) {\n    await sleep(quietMs);\n    const counts",
    replace: "  await sleep(quietMs);\n  for (;;) {\n    const counts",
    tests: ["test/verify/settle.test.ts"],
  },
  {
    breaks: "A receiver that accepts a t 301 s in the future passes signature.future-301.",
    file: "simulator/verify/checks/signature-time.ts",
    find: "...atLimit(-301, allRefused)",
    replace: "...atLimit(301, allRefused)",
    tests: ["test/verify/limits.test.ts"],
  },
  {
    breaks:
      "The JUnit report of a run that did not come to its end announces one test fewer than it has, so that CI servers that add up refuse it or show no error.",
    file: "simulator/verify/reports/junit.ts",
    find: 'tests="${report.results.length + errors}"',
    replace: 'tests="${report.results.length}"',
    tests: ["test/verify/report-texts.test.ts"],
  },
  {
    breaks:
      "The note on crash.stored-before-answer names the loosest kill as the closest, and so claims less than was shown.",
    file: "simulator/verify/kill-rounds.ts",
    find: "const closestMs = Math.min(...rounds.map((round) => round.closestMs));",
    replace: "const closestMs = Math.max(...rounds.map((round) => round.closestMs));",
    tests: ["test/verify/waits.test.ts"],
  },
  {
    breaks: "A delivery whose body takes more than 5 s to arrive is answered 408 instead of having 10 s.",
    file: "shared/listener/index.ts",
    find: "requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT_MS,",
    replace: "requestTimeout: options.requestTimeout ?? HEADERS_TIMEOUT_MS,",
    tests: ["test/shared/listener.test.ts"],
  },
  {
    breaks:
      "After a power cut between forgetting bodies and deleting their rows, the work file's rows of those events are never deleted: retention stops at their batch at every run and nothing newer is ever pruned.",
    file: "receiver/engines/sqlite/retention.ts",
    find: "(findReceivedAt.get(seq) ?? 0) < beforeMs",
    replace: "(findReceivedAt.get(seq) ?? beforeMs) < beforeMs",
    tests: ["test/receiver/engines/claims.test.ts"],
  },
  {
    breaks:
      "After a rollback to a version with fewer migrations of a handler and the upgrade back, the migrations in between run a second time, and the worker cannot start ('table already exists', 'duplicate column').",
    file: "receiver/engines/sqlite/handlers.ts",
    find: "    setApplied.run(name, Math.max(applied, migrations.length));",
    replace: "    setApplied.run(name, migrations.length);",
    tests: ["test/receiver/engines/sqlite.test.ts"],
  },
  {
    breaks:
      "A job that was requeued or given back shows 1970-01-01T00:00:00Z as its next attempt in `inbox show`, at /inbox/{id} and on the page.",
    file: "receiver/engines/sqlite/queries.ts",
    find: "    nextAttemptAtMs: dueAtMs === null ? null : Math.max(dueAtMs, event.receivedAtMs),",
    replace: "    nextAttemptAtMs: dueAtMs,",
    tests: ["test/receiver/engines/sqlite.test.ts"],
  },
  {
    breaks:
      "On a disk with blocks reserved for root the receiver takes those for free: /readyz says that the disk is ok and events are accepted until SQLite itself reports a full disk.",
    file: "receiver/compose.ts",
    find: "  const { bavail, bsize } = await statfs(dirname(databaseFile));\n  return bavail * bsize;",
    replace: "  const { bfree, bsize } = await statfs(dirname(databaseFile));\n  return bfree * bsize;",
    tests: ["test/receiver/health.test.ts"],
  },
  {
    breaks: "With ADMIN_HOST=::1 the log's admin_url is http://::1:3001, which no browser or curl can open.",
    file: "receiver/receiver.ts",
    find: "  const adminUrl = `http://${hostInUrl(adminHost)}:",
    replace: "  const adminUrl = `http://${adminHost}:",
    tests: ["test/receiver/admin.test.ts"],
  },
  {
    breaks:
      "An error message of the service that quotes the API key around its 300th character leaves most of the key in the report and the log.",
    file: "receiver/operations/rest-client.ts",
    find: "redact(said).slice(0, LONGEST_MESSAGE)",
    replace: "redact(said.slice(0, LONGEST_MESSAGE))",
    tests: ["test/receiver/rest-client.test.ts"],
  },
  {
    breaks:
      "On the page, 'Requeue the chosen' in a list of one handler's jobs asks first, and then requeues the dead jobs of all other handlers of those events as well.",
    file: "receiver/operations/page/index.ts",
    find: '        const fields = [...ids.map((id) => ["id", id] as const), ...Object.entries(selection)];',
    replace:
      '        const fields = ids.length > 0 ? ids.map((id) => ["id", id] as const) : Object.entries(selection);',
    tests: ["test/receiver/operator-page.test.ts"],
  },
  {
    breaks:
      "After a reset GET /api/v1/calls still answers the page from before it, with calls that are gone (each of them 404 or invalid_cursor), until the next happening.",
    file: "simulator/domain/world/items.ts",
    find: "    clear(): void {\n      changes += 1;\n",
    replace: "    clear(): void {\n",
    tests: ["test/simulator/api/page-cache.test.ts"],
  },
  {
    breaks:
      'Under retry_body=reserialized a second attempt sends {"rawJSON":"9007199254740993"} in place of a number that is too long for a double: other JSON, where only its spelling should differ.',
    file: "simulator/domain/attempt-request.ts",
    find: "value === null || Object.isFrozen(value)) return value;",
    replace: "value === null) return value;",
    tests: ["test/simulator/delivery/readings.test.ts"],
  },
];

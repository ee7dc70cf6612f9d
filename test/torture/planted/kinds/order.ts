import type { PlantedBug } from "../planted-bug.ts";

/** Slips of one kind: the order of two steps, which only matters under load or where something breaks off. */
export const plantedOrder: PlantedBug[] = [
  {
    kind: "order",
    breaks: "A backup that is taken under load has a work file that is ahead of its inbox.",
    file: "receiver/engines/sqlite/care.ts",
    find: "const sources = [db, inbox];",
    replace: "const sources = [inbox, db];",
    tests: ["test/receiver/engines/sqlite-files.slow.test.ts"],
  },
  {
    kind: "order",
    breaks: "After a power cut during retention, an effect is gone and its event forgotten.",
    file: "receiver/engines/sqlite/retention.ts",
    find: "    sync();\n    const forgetAll",
    replace: "    const forgetAll",
    tests: ["test/receiver/power-cut.slow.test.ts"],
  },
  {
    kind: "order",
    breaks: "A backup that was cut off looks like a whole one.",
    file: "receiver/engines/sqlite/care.ts",
    find: 'copyInto(source, `${copies[index] ?? ""}.part`);\n  for (const copy of copies) renameSync(`${copy}.part`, copy);',
    replace: 'copyInto(source, copies[index] ?? "");',
    tests: ["test/receiver/engines/sqlite-files.slow.test.ts"],
  },
  {
    kind: "order",
    breaks: "Reconcile brings back what retention has pruned meanwhile.",
    file: "receiver/operations/reconcile.ts",
    find: "    // Asked again, because what was pruned before we asked for it is unknown too.\n    sinceMs = await findSince();\n",
    replace: "",
    tests: ["test/receiver/reconcile.test.ts"],
  },
  {
    kind: "order",
    breaks: "Reconcile that breaks off in the midst of a batch never brings that batch.",
    file: "receiver/operations/reconcile.ts",
    find: "      await heal(batch, organizationId);\n      report.objectsRead",
    replace:
      "      if (!dryRun) await writeBookmark(list, { newestId: newestId ?? last.id, lastId: last.id });\n      await heal(batch, organizationId);\n      report.objectsRead",
    tests: ["test/receiver/reconcile.test.ts"],
  },
  {
    kind: "order",
    breaks: "Counts taken under load don't add up.",
    file: "receiver/engines/sqlite/counts.ts",
    find: "db.transaction(() => ({\n    position",
    replace: "(() => ({\n    position",
    tests: ["test/receiver/engines/counts.test.ts"],
  },
  {
    kind: "order",
    breaks: "The services are closed while handlers still use them.",
    file: "receiver/work/worker.ts",
    find: '    await working\n      ?.stop(graceMs, failed)\n      .catch((error: unknown) => log.error({ err: error }, "could not return jobs"));\n    const closing = closeServices()',
    replace: "    const closing = closeServices()",
    tests: ["test/receiver/isolation.slow.test.ts"],
  },
  {
    kind: "order",
    breaks: "New handlers begin before those that they replace have stopped.",
    file: "receiver/work/supervisor.ts",
    find: "else if (child === next && current) replace(current);",
    replace: "else if (child === next && current) {\n      replace(current);\n      begin(child);\n    }",
    tests: ["test/receiver/reload.test.ts"],
  },
  {
    kind: "order",
    breaks: "A receiver that stops ends its admin port before its requests are answered.",
    file: "receiver/receiver.ts",
    find: "    await Promise.all([receiver.drain(), listening.server?.drain(receiver.graceMs)]);\n    await listening.admin?.drain(0);\n    await receiver.close();",
    replace:
      "    await receiver.close();\n    await Promise.all([receiver.drain(), listening.server?.drain(receiver.graceMs)]);\n    await listening.admin?.drain(0);",
    tests: ["test/receiver/process.test.ts"],
  },
  {
    kind: "order",
    breaks: "An attempt is sent before it is recorded, and a crash makes it a seventh.",
    file: "simulator/domain/flights.ts",
    find: "      const flights = options.transaction(() => {",
    replace:
      "      for (const departure of departures) void options.send(take(departure).request);\n      const flights = options.transaction(() => {",
    tests: ["test/simulator/delivery/restarts.test.ts"],
  },
];

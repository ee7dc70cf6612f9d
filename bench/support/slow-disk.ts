import { systemClock } from "../../receiver/clock.ts";
import { loadConfig } from "../../receiver/config.ts";
import type { AcceptResult, Intake } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { startReceiver } from "../../receiver/receiver.ts";

/** The receiver on a disk whose syncs take 5 ms longer; with COMMIT_EACH it makes a commit of every event. */
const loaded = loadConfig(process.env);
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
const { config } = loaded;
const engine = await openSqliteEngine({
  file: config.databaseFile ?? "",
  clock: systemClock,
  writerThreadFile: new URL("./slow-disk-thread.ts", import.meta.url),
});

const acceptEach: Intake["accept"] = async (batch): Promise<AcceptResult> => {
  const results = await Promise.all(batch.map(async (event) => engine.intake.accept([event])));
  const refusal = results.find((result) => !result.ok);
  return (
    refusal ?? { ok: true, acceptances: results.flatMap((result) => (result.ok ? result.acceptances : [])) }
  );
};

const receiver = await startReceiver({
  config,
  engine:
    process.env["COMMIT_EACH"] === undefined
      ? engine
      : { ...engine, intake: { ...engine.intake, accept: acceptEach } },
  clock: systemClock,
  log: createLog({ level: config.logLevel }),
  environment: process.env,
});
process.once("SIGTERM", () => void receiver.stop().then(() => process.exit(0)));

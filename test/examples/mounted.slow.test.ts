import { randomBytes } from "node:crypto";
import { describe, test } from "vitest";
import { selectChecks } from "../../simulator/verify/catalogue.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { APPS, command } from "./mounted.ts";
import { failedMusts, story } from "./verified.ts";

/** Three at a time, each started nine times, on a machine that may be busy. */
const WITHIN_MS = 300_000;

/** Every check that can fail a run, without the floods. */
const selected = selectChecks({});
if (!selected.ok) throw new Error(selected.message);
const CHECKS = selected.checks.filter(({ level, group }) => level === "must" && group !== "load");

describe.concurrent(
  "verify passes every check, kills included, with the receiver mounted in",
  { timeout: WITHIN_MS },
  () => {
    test.for(APPS)("%s", async (app, { expect, onTestFinished }) => {
      const origin = `http://127.0.0.1:${await freePort()}`;
      const report = await verifyReceiver({
        url: `${origin}/webhooks`,
        observeUrl: `${origin}/handled/{id}`,
        secret: `whsec_${randomBytes(24).toString("hex")}`,
        seed: randomBytes(4).toString("hex"),
        checks: CHECKS,
        // Their database is data/receiver.db in the folder where they are started.
        command: [
          "sh",
          "-c",
          'cd "$0" && LOG_LEVEL=warn exec "$@"',
          temporaryDirectory(onTestFinished),
          ...command(app),
        ],
        readyTimeoutMs: 30_000,
        failOn: ["unverified"],
        now: Date.now,
        // As long as it takes, since the machine may be busy.
        timing: {
          runMs: Number.POSITIVE_INFINITY,
          lateMs: Number.POSITIVE_INFINITY,
          manyOthersMs: Number.POSITIVE_INFINITY,
        },
      });
      expect({ failed: failedMusts(report), verdict: report.verdict }, story(report)).toEqual({
        failed: [],
        verdict: "passed",
      });
    });
  },
);

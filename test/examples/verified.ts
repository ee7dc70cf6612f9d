import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selectChecks } from "../../simulator/verify/catalogue.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { freePort } from "../helpers/free-port.ts";
import { type Example, pathOf } from "./receivers.ts";

const READY_WITHIN_MS = 30_000;

/** The checks of a run without options. */
const selected = selectChecks({});
if (!selected.ok) throw new Error(selected.message);
const CHECKS = selected.checks;

/** Every check that can fail a run, without floods and restarts, which take half of its time. */
const BRIEF = CHECKS.filter(({ level, group }) => level === "must" && group !== "load" && group !== "crash");

/** The report of `verify`, in its command form, on an example; by default without options. */
export async function verified(example: Example, { observe = false, brief = false } = {}): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "verify-example-"));
  try {
    const { origin, url, secret } = await address();
    return await verifyReceiver({
      ...PLAIN,
      url,
      secret,
      seed: randomBytes(4).toString("hex"),
      checks: brief ? BRIEF : CHECKS,
      command: commandFor(example, pathOf(example), folder),
      ...(observe && { observeUrl: `${origin}/handled/{id}` }),
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** No limit: these tests don't check that a run ends in time, and the machine may be busy. */
const FOREVER = Number.POSITIVE_INFINITY;
const timing = { runMs: FOREVER, lateMs: FOREVER, manyOthersMs: FOREVER };
const PLAIN = { readyTimeoutMs: READY_WITHIN_MS, failOn: [], now: Date.now, timing };

async function address(): Promise<{ origin: string; url: string; secret: string }> {
  const origin = `http://127.0.0.1:${await freePort()}`;
  return { origin, url: `${origin}/webhooks`, secret: `whsec_${randomBytes(24).toString("hex")}` };
}

/** The command that starts the receiver in `path`, with its events in `folder`. */
function commandFor(example: Example, path: string, folder: string): string[] {
  const program = example.build?.(path, folder) ?? path;
  return ["env", `DATABASE=${join(folder, "events")}`, ...example.command(program)];
}

/** The ids of the `must` checks that failed. */
export function failedMusts({ results }: Report): string[] {
  const failed = results.filter(({ check, outcome }) => outcome === "failed" && check.level === "must");
  return failed.map(({ check }) => check.id);
}

/** Everything that a report holds against a receiver, for the message of a failing test. */
export function story({ seed, results, receiverOutput }: Report): string {
  const lines = results
    .filter(({ outcome }) => outcome === "failed")
    .map(({ check, explanation = "" }) => `${check.level} ${check.id}: ${explanation}`);
  return [`seed ${seed}`, ...lines, ...receiverOutput].join("\n");
}

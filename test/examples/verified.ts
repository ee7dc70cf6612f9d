import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { freePort } from "../verify/free-port.ts";
import { type Example, pathOf } from "./receivers.ts";

/** What `verify`, in the command form says of an example, or of a changed copy of it in `path`; without options unless told. */
export async function verified(
  example: Example,
  options: { path?: string; checks?: readonly Check[]; observe?: boolean } = {},
): Promise<Report> {
  const { path = pathOf(example), checks = CATALOGUE, observe = false } = options;
  const folder = await mkdtemp(join(tmpdir(), "verify-example-"));
  try {
    const program = example.build?.(path, folder) ?? path;
    const origin = `http://127.0.0.1:${await freePort()}`;
    return await verifyReceiver({
      url: `${origin}/webhooks`,
      secret: `whsec_${randomBytes(24).toString("hex")}`,
      seed: randomBytes(4).toString("hex"),
      checks,
      ...(observe && { observeUrl: `${origin}/handled/{id}` }),
      command: ["env", `DATABASE=${join(folder, "events")}`, ...example.command(program)],
      readyTimeoutMs: 30_000,
      failOn: [],
      now: Date.now,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** All that a report says against a receiver, for the day when a test fails. */
export function story({ seed, results, receiverOutput }: Report): string {
  const lines = results
    .filter(({ outcome }) => outcome === "failed")
    .map(({ check, explanation = "" }) => `${check.level} ${check.id}: ${explanation}`);
  return [`seed ${seed}`, ...lines, ...receiverOutput].join("\n");
}

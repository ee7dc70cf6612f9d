import { expect, test } from "vitest";
import { judgeImages } from "./power-cut/images.ts";
import { record, whyNot } from "./power-cut/recording.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Promise R1 against a power cut: what was acknowledged is on every disk that could come back. */

const IMAGES = Number(process.env["POWER_CUT_IMAGES"] ?? 2_000);
const BATCHES = 120;
const reason = whyNot();
if (reason !== undefined) process.stderr.write(`The power-cut tests are skipped: ${reason}.\n`);

test.skipIf(reason !== undefined)(
  `no acknowledged event is missing on any of ${String(IMAGES)} disks after a power cut`,
  { timeout: 120_000 + IMAGES * 20 },
  () => {
    const steps = record({ directory: temporaryDirectory(), synchronous: "FULL", batches: BATCHES });
    expect(steps.filter(({ kind }) => kind === "acknowledge")).toHaveLength(BATCHES);
    expect(judgeImages(steps, { images: IMAGES, random: Math.random })).toEqual({
      images: IMAGES,
      corrupt: 0,
      losing: 0,
    });
  },
);

test.skipIf(reason !== undefined)(
  "the same with synchronous=NORMAL does lose some: the control",
  { timeout: 120_000 },
  () => {
    const steps = record({ directory: temporaryDirectory(), synchronous: "NORMAL", batches: BATCHES });
    expect(steps.filter(({ kind }) => kind === "acknowledge")).toHaveLength(BATCHES);
    const verdict = judgeImages(steps, { images: 200, random: Math.random });
    expect(verdict.losing).toBeGreaterThan(0);
  },
);

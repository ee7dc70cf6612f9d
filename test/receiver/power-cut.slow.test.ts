import { expect, test } from "vitest";
import { judgeImages } from "./power-cut/images.ts";
import { record, whyNot } from "./power-cut/recording.ts";
import { randomFrom, SEED } from "../helpers/seed.ts";
import { ALL, sized } from "../helpers/run/sizes.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/**
 * Promises R1 and R5 against a power cut, with retention and requeue under way: what was acknowledged is on every disk
 * that could come back, no effect is there without its event being done, and the two files find their way on together.
 */

const IMAGES = sized("POWER_CUT_IMAGES", { quick: 30, all: 250 });
const BATCHES = ALL ? 120 : 60;
const reason = whyNot();
if (reason !== undefined) process.stderr.write(`The power-cut tests are skipped: ${reason}.\n`);

test.skipIf(reason !== undefined)(
  `none of ${String(IMAGES)} disks after a power cut, drawn from seed ${String(SEED)}, misses an acknowledged event, or cannot heal`,
  { timeout: 120_000 + IMAGES * 20 },
  () => {
    const steps = record({ directory: temporaryDirectory(), variant: "as-is", batches: BATCHES });
    expect(steps.filter(({ kind }) => kind === "acknowledge")).toHaveLength(BATCHES);
    expect(judgeImages(steps, { images: IMAGES, random: randomFrom(SEED) })).toEqual({
      images: IMAGES,
      corrupt: 0,
      losing: 0,
      stuck: 0,
    });
  },
);

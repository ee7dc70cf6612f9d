import { expect, test } from "vitest";
import { sized } from "../../helpers/run/sizes.ts";
import { randomFrom, SEED } from "../../helpers/seed.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { judgeImages } from "./power-cut/images.ts";
import { record, whyNot } from "./power-cut/recording.ts";

const BATCHES = 80;
const reason = whyNot();
if (reason !== undefined) console.warn(`Power cuts are not tested: ${reason}.`);

test.skipIf(reason !== undefined)(
  "whenever the power is cut, no acknowledged event is lost, and no job is done without its effect",
  { timeout: 600_000 },
  async () => {
    const steps = await record({ directory: temporaryDirectory(), variant: "as-is", batches: BATCHES });
    expect(steps.filter(({ kind }) => kind === "acknowledge").length).toBeGreaterThan(2 * BATCHES);
    const images = sized("POWER_CUT_IMAGES", { quick: 200, all: 600 });
    expect(await judgeImages(steps, { images, random: randomFrom(SEED) })).toEqual({
      images,
      corrupt: 0,
      losing: 0,
      torn: 0,
    });
  },
);

/** Shows that the test above can fail. */
test.skipIf(reason !== undefined).for(["no-sync", "worker-off"] as const)(
  "a control: %s loses events on some of the disks",
  { timeout: 600_000 },
  async (variant) => {
    const steps = await record({ directory: temporaryDirectory(), variant, batches: BATCHES });
    expect(steps.filter(({ kind }) => kind === "acknowledge").length).toBeGreaterThan(2 * BATCHES);
    const { corrupt, losing, torn } = await judgeImages(steps, { images: 300, random: randomFrom(SEED) });
    expect(corrupt + losing + torn).toBeGreaterThan(0);
  },
);

import { describe, expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { deliveryDetailView } from "../../../simulator/control/views.ts";
import type { Readings } from "../../../simulator/domain/readings.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import {
  emitOne,
  openSimulator,
  readingsWith,
  register,
  temporaryDirectory,
} from "../../helpers/simulator.ts";

const OLD = "whsec_old_0123456789";
const NEW = "whsec_new_0123456789";
const OVERLAP_SECONDS = 3_600;

async function openRotated(options: Parameters<typeof openSimulator>[0] = {}) {
  const receiver = await startEndpoint(200);
  const simulator = openSimulator({ clock: "manual", ...options });
  const { id } = register(simulator, receiver.url, { secret: OLD });
  const rotated = simulator.endpoints.rotate(id, { secret: NEW, overlapMs: OVERLAP_SECONDS * 1000 });
  if (!rotated.ok) throw new Error(rotated.message);
  return { receiver, simulator, id };
}

/** Which of the two secrets verify the last attempt, and its number of signatures. */
async function signersOf({ receiver, simulator }: Awaited<ReturnType<typeof openRotated>>) {
  emitOne(simulator);
  await simulator.settled();
  const { signature = "", body = Buffer.alloc(0), t = 0 } = receiver.received.at(-1) ?? {};
  const signs = (secret: string) =>
    verify({ headers: [signature], body, secrets: [secret], nowSeconds: t }).ok;
  return { new: signs(NEW), old: signs(OLD), count: signature.split("v1=").length - 1 };
}

describe("rotated_secret_signs", () => {
  test.each<[Readings["rotated_secret_signs"], object]>([
    ["both", { new: true, old: true, count: 2 }],
    ["new", { new: true, old: false, count: 1 }],
    ["old", { new: false, old: true, count: 1 }],
  ])("%s, until the overlap ends in schedule time", async (choice, meanwhile) => {
    const opened = await openRotated({ readings: readingsWith({ rotated_secret_signs: choice }) });
    const { clock } = opened.simulator;
    expect(await signersOf(opened)).toEqual(meanwhile);
    await clock.advance(OVERLAP_SECONDS - 1);
    expect(await signersOf(opened)).toEqual(meanwhile);
    await clock.advance(1);
    expect(await signersOf(opened)).toEqual({ new: true, old: false, count: 1 });
  });
});

describe("a rotated secret", () => {
  test("leaves earlier signatures valid, and signs later attempts with the current secrets", async () => {
    const opened = await openRotated({ readings: readingsWith({ rotated_secret_signs: "old" }) });
    const { simulator } = opened;
    await signersOf(opened);
    await simulator.clock.advance(OVERLAP_SECONDS);
    const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
    const detail = simulator.deliveries.detail(delivery?.id ?? "");
    expect(detail.ok && deliveryDetailView(detail).attempts).toMatchObject([
      { signature: { matches: true, verdict: "accepted" } },
    ]);
    const signed = simulator.deliveries.signAgain(delivery?.id ?? "", 1);
    if (!signed.ok) throw new Error(signed.message);
    const { body, headers } = signed.request;
    const header = headers["x-service-signature"] ?? "";
    const nowSeconds = Math.floor(Date.now() / 1000);
    expect(verify({ headers: [header], body, secrets: [NEW], nowSeconds }).ok).toBe(true);
    expect(verify({ headers: [header], body, secrets: [OLD], nowSeconds }).ok).toBe(false);
  });

  test("that the simulator no longer has does not make an attempt wrong", async () => {
    const opened = await openRotated({ readings: readingsWith({ rotated_secret_signs: "old" }) });
    const { simulator, id } = opened;
    await signersOf(opened);
    simulator.endpoints.rotate(id, { secret: "whsec_third", overlapMs: 0 });
    const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
    const detail = simulator.deliveries.detail(delivery?.id ?? "");
    expect(detail.ok && deliveryDetailView(detail).attempts).toMatchObject([
      { signature: { matches: null, verdict: null } },
    ]);
  });

  test("with the fault bad-signature is signed by neither", async () => {
    const opened = await openRotated({ faults: [{ name: "bad-signature" }] });
    expect(await signersOf(opened)).toEqual({ new: false, old: false, count: 2 });
  });

  test("survives in a data file, overlap and all", async () => {
    const dataFile = `${temporaryDirectory()}/state.db`;
    const { simulator, id } = await openRotated({ dataFile });
    const before = simulator.endpoints.find(id);
    await simulator.close();
    expect(openSimulator({ dataFile }).endpoints.find(id)).toEqual(before);
    expect(before?.previousSecret?.secret).toBe(OLD);
  });

  test("must be new and without white space, and needs an existing endpoint", async () => {
    const { simulator, id } = await openRotated();
    for (const [of, secret, reason] of [
      [id, NEW, undefined],
      [id, "two words", undefined],
      ["ep_none", "whsec_other", "not_found"],
    ] as const)
      expect(simulator.endpoints.rotate(of, { secret, overlapMs: 0 })).toMatchObject({ ok: false, reason });
    expect(simulator.endpoints.find(id)).toMatchObject({ secret: NEW, previousSecret: { secret: OLD } });
  });

  test("without an overlap signs alone at once", async () => {
    const opened = await openRotated();
    opened.simulator.endpoints.rotate(opened.id, { secret: "whsec_third", overlapMs: 0 });
    expect(await signersOf(opened)).toEqual({ new: false, old: false, count: 1 });
  });
});

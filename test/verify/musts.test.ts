import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { envelopeSchema } from "../../shared/events.ts";
import { verify } from "../../shared/signature.ts";
import { jsonOf } from "../../simulator/domain/exact-json.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { type RunOptions, runChecks } from "../../simulator/verify/run.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { QUICK_RUN } from "../mutants/judge.ts";
import { startMutant } from "../mutants/receiver.ts";

/** A request as the service sends it (SPEC §6 Delivery). */
const deliverySchema = z.object({
  headers: z.looseObject({
    "x-service-signature": z.string().regex(/^t=\d+,v1=[0-9a-f]{64}$/),
    "content-type": z.string().startsWith("application/json"),
    "content-length": z.string(),
    "transfer-encoding": z.never().optional(),
    "content-encoding": z.never().optional(),
  }),
  event: envelopeSchema,
});

test("no must sends a signed request that the service could not send", async () => {
  const endpoint = await startEndpoint((response, _, { headers, body }) => {
    const given = [headers["x-service-signature"] ?? []].flat();
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const { ok } = verify({ body, headers: given, secrets: [QUICK_RUN.secret], nowSeconds });
    response.writeHead(ok ? 200 : 401).end();
    if (!ok) return;
    signed += 1;
    const delivery = deliverySchema.safeParse({ headers, event: jsonOf(body.toString()) });
    if (!delivery.success) odd.push(`${delivery.error.message} ${body.toString().slice(0, 200)}`);
  });
  let signed = 0;
  const odd: string[] = [];
  const musts = CATALOGUE.filter(({ level, group }) => level === "must" && group !== "crash");
  const report = await runChecks({
    ...QUICK_RUN,
    url: `${endpoint.url}/webhooks`,
    checks: musts,
    observe: async () => ({ known: true, count: 1 }),
  });
  expect(odd).toEqual([]);
  expect([signed > musts.length, report.notRun]).toEqual([true, 0]);
});

test("a worker that dies of input that the service never sends fails no must", async () => {
  let isDead = false;
  const receiver = await startMutant(
    {
      onUnverified: (body) => void (isDead ||= body.includes('"object":null')),
      handlings: () => (isDead ? 0 : 1),
    },
    Date.now,
  );
  onTestFinished(() => receiver.close());
  const checks = CATALOGUE.filter(({ group, id }) =>
    group === "effects" ? id !== "effects.after-many-others" : id === "wire.no-object",
  );
  const observe: RunOptions["observe"] = async (id) => ({ known: true, count: receiver.handled(id) });
  const report = await runChecks({ ...QUICK_RUN, url: receiver.url, checks, observe });
  expect(isDead).toBe(true);
  expect(report.results.filter(({ outcome }) => outcome !== "passed").map((one) => one.check.id)).toEqual([]);
});

import { envelopeSchema, type Envelope } from "../../shared/events.ts";
import type { StoredEvent } from "../domain/events.ts";
import { camelCase, snakeCase } from "../domain/names.ts";
import { refusedBy } from "../domain/refused.ts";
import { type Selection, selectionFields, selectionOf, selectionSchema } from "../domain/selection.ts";
import { attemptSchema, deliverySchema } from "../domain/shapes.ts";
import { dated } from "../domain/spelling.ts";
import type { Simulator } from "../verbs/simulator.ts";
import type { DeliveryDetail } from "../verbs/deliveries.ts";
import { orThrow, refuseUnknown } from "./input.ts";
import type { DeliveryControl, DeliveryRecord, DeliverySearch, DeliverySelection } from "./surface.ts";

const MOST_LISTED = 1_000;
const SELECTION = Object.keys(selectionFields).map(camelCase);
export function createDeliveryControl(simulator: Simulator): DeliveryControl {
  const { deliveries, jobs, clock, events, journal, settled } = simulator;

  const get = (id: string): DeliveryRecord => record(orThrow(deliveries.detail(id)));

  function list(asked: DeliverySearch = {}): DeliveryRecord[] {
    const { limit = MOST_LISTED, ...search } = asked;
    const selection = selectionFrom("simulator.deliveries.list()", search);
    const records: DeliveryRecord[] = [];
    for (let after: string | null | undefined; after !== null && records.length < limit;) {
      const page = deliveries.page({ ...selection, after, limit: limit - records.length });
      records.push(...page.deliveries.map(({ id }) => get(id)));
      after = page.next;
    }
    return records;
  }

  function selectionFrom(call: string, asked: DeliverySelection): Selection {
    refuseUnknown(call, asked, SELECTION);
    const fields = Object.entries(asked).map(([name, value]) => [
      snakeCase(name),
      value instanceof Date ? value.toISOString() : value,
    ]);
    const parsed = selectionSchema.safeParse(Object.fromEntries(fields));
    const result = parsed.success ? selectionOf(parsed.data, clock.now()) : refusedBy(parsed.error);
    return orThrow(result, call).selection;
  }

  function finished(id: string): Promise<DeliveryRecord> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = get(id);
        if (found.state !== "attempting") resolve(found);
        return found.state !== "attempting";
      };
      if (look()) return;
      const stop = journal.watch((entry) => {
        if (entry.kind === "reset") {
          stop();
          reject(new Error(`The simulator was reset before delivery ${id} was finished.`));
        } else if ("deliveryId" in entry && entry.deliveryId === id && look()) stop();
      });
    });
  }

  async function resend(id: string): Promise<DeliveryRecord> {
    const resent = orThrow(deliveries.resend(id));
    await settled();
    return get(resent.id);
  }

  async function resendAll(search: DeliverySelection): Promise<{ total: number }> {
    const selection = selectionFrom("simulator.deliveries.resendAll()", search);
    const { job } = orThrow(jobs.start(selection, { ...search }));
    await jobs.ended();
    await settled();
    if (job.problem !== null) throw new Error(job.problem);
    return { total: job.sent };
  }

  async function replay(envelope: Envelope, options: { newId?: boolean } = {}): Promise<DeliveryRecord[]> {
    const call = "simulator.deliveries.replay()";
    refuseUnknown(call, options, ["newId"]);
    const parsed = envelopeSchema.safeParse(envelope);
    if (!parsed.success)
      throw new Error(`${call}: this is not an envelope: ${refusedBy(parsed.error).message}`);
    const { emitted } = orThrow(events.replay([parsed.data], { newIds: options.newId ?? false }));
    await settled();
    return emitted.flatMap((one) => one.deliveries.map(({ id }) => get(id)));
  }

  return {
    list,
    get,
    settled,
    count: (search = {}) => deliveries.count(selectionFrom("simulator.deliveries.count()", search)),
    finished,
    resend,
    resendAll,
    replay,
  };
}

export function envelopeOf(event: StoredEvent): Envelope {
  return envelopeSchema.parse(JSON.parse(event.body.toString()));
}

const dateDelivery = dated(deliverySchema);
const dateAttempt = dated(attemptSchema);

function record({ summary, attempts }: DeliveryDetail): DeliveryRecord {
  return {
    ...dateDelivery(summary),
    attempts: attempts.map((attempt) => ({
      ...dateAttempt(attempt),
      request: { url: attempt.requestUrl, headers: attempt.requestHeaders, body: attempt.sentBody },
      answer: attempt.answer,
    })),
  };
}

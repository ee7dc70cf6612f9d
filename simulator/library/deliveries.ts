import { envelopeSchema, type Envelope } from "../../shared/events.ts";
import type { StoredEvent } from "../domain/events.ts";
import { formatFault, formatFaults } from "../domain/faults.ts";
import { camelCase, snakeCase } from "../domain/names.ts";
import { refusedBy } from "../domain/refused.ts";
import { type Selection, selectionFields, selectionOf, selectionSchema } from "../domain/selection.ts";
import type { Simulator } from "../verbs/simulator.ts";
import type { DeliveryDetail } from "../verbs/deliveries.ts";
import { asynchronous, NAMES_OF_A_LIST } from "./asynchronous.ts";
import { orThrow, refuseUnknown } from "./input.ts";
import type {
  AttemptRecord,
  DeliveryControl,
  DeliveryRecord,
  DeliverySearch,
  DeliverySelection,
} from "./surface.ts";

const MOST_LISTED = 1_000;
const SELECTION = Object.keys(selectionFields).map(camelCase);
const RECORD: (keyof DeliveryRecord)[] = [
  "id",
  "eventId",
  "eventType",
  "endpointId",
  "state",
  "nextAttemptAt",
  "resendOf",
  "attempts",
];

/** What tests do with deliveries. */
export function createDeliveryControl(simulator: Simulator): DeliveryControl {
  const { deliveries, clock, events, journal, settled } = simulator;

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

  /** Reads a selection in camelCase; throws with what is wrong with it. */
  function selectionFrom(call: string, asked: DeliverySelection): Selection {
    refuseUnknown(call, asked, SELECTION);
    const fields = Object.entries(asked).map(([name, value]) => [
      snakeCase(name),
      value instanceof Date ? value.toISOString() : value,
    ]);
    const parsed = selectionSchema.safeParse(Object.fromEntries(fields));
    const result = parsed.success ? selectionOf(parsed.data, clock.now()) : refusedBy(parsed.error);
    if (!result.ok) throw new Error(`${call}: ${result.message}`);
    return result.selection;
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

  async function replay(envelope: Envelope, newIds: boolean): Promise<DeliveryRecord[]> {
    const parsed = envelopeSchema.safeParse(envelope);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Error(
        `simulator.deliveries.replay(): this is no envelope: ${issue?.path.join(".")}: ${issue?.message}.`,
      );
    }
    const { emitted } = orThrow(events.replay([parsed.data], { newIds }));
    await settled();
    return emitted.flatMap((one) => one.deliveries.map(({ id }) => get(id)));
  }

  return {
    list,
    get,
    settled,
    finished: (id) => asynchronous("simulator.deliveries.finished()", RECORD, finished(id)),
    resend: (id) => asynchronous("simulator.deliveries.resend()", RECORD, resend(id)),
    replay(envelope, options = {}) {
      refuseUnknown("simulator.deliveries.replay()", options, ["newId"]);
      const replayed = replay(envelope, options.newId ?? false);
      return asynchronous("simulator.deliveries.replay()", NAMES_OF_A_LIST, replayed);
    },
  };
}

/** The envelope of an event, as it is sent. */
export function envelopeOf(event: StoredEvent): Envelope {
  return envelopeSchema.parse(JSON.parse(event.body.toString()));
}

function record({ summary, attempts }: DeliveryDetail): DeliveryRecord {
  const { createdAtMs, nextAttemptAtMs, handling: _, ...told } = summary;
  return {
    ...told,
    createdAt: new Date(createdAtMs),
    nextAttemptAt: dateOf(nextAttemptAtMs),
    faults: summary.faults.map(formatFault),
    attempts: attempts.map(attemptRecord),
  };
}

function attemptRecord(attempt: DeliveryDetail["attempts"][number]): AttemptRecord {
  const { requestUrl: url, requestHeaders: headers, sentBody: body } = attempt;
  return {
    number: attempt.number,
    scheduledAt: new Date(attempt.scheduledAtMs),
    startedAt: new Date(attempt.startedAtMs),
    endedAt: dateOf(attempt.endedAtMs),
    wallStartedAt: new Date(attempt.wallStartedAtMs),
    durationMs: attempt.durationMs,
    signatureTimestamp: attempt.signatureTimestamp,
    httpStatus: attempt.httpStatus,
    error: attempt.error,
    errorDetail: attempt.errorDetail,
    fault: attempt.injected.length === 0 ? null : formatFaults(attempt.injected),
    blame: attempt.blame,
    request: { url, headers, body },
    answer: attempt.answer,
  };
}

function dateOf(timeMs: number | null): Date | null {
  return timeMs === null ? null : new Date(timeMs);
}

import type { Database } from "better-sqlite3";
import { z } from "zod";
import type { Answer, Outcome, Blame } from "./outcome.ts";
import { attemptSchema } from "./shapes.ts";
import { columnsOf, type Kept } from "./spelling.ts";
import type { Fault } from "./faults.ts";
import { isSuccess } from "./judgement.ts";

/** One attempt, without its request and answer. */
export type AttemptSummary = Omit<Kept<typeof attemptSchema>, "fault" | "blame"> & { deliveryId: string };

export type Attempt = AttemptSummary & {
  /** The address it was sent to, since that of an endpoint may change. */
  requestUrl: string;
  requestHeaders: Record<string, string>;
  /** The bytes sent, if they differ from the delivery's. */
  requestBody: Buffer | null;
  answer: Answer | null;
};

type NewAttempt = Omit<
  Attempt,
  "deliveryId" | "endedAtMs" | "durationMs" | "httpStatus" | "error" | "errorDetail" | "answer"
>;

/** An attempt that has not ended; `row` is its row in the table while this process runs. */
export type OpenAttempt = { row: number; number: number; startedAtMs: number };

type LeftOpen = OpenAttempt & { deliveryId: string };

type AttemptRow = Omit<Attempt, "requestHeaders" | "answer"> & {
  requestHeaders: string;
  answerHeaders: string | null;
  answerBody: Buffer | null;
  answerTruncated: number;
};

const SUMMARY_COLUMNS = `d.id AS deliveryId, ${columnsOf(attemptSchema, ["fault", "blame"])}`;
const OPEN = `
  INSERT INTO attempts (delivery_seq, number, scheduled_at, started_at, wall_started_at, signature_timestamp,
    request_url, request_headers, request_body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CLOSE = `
  UPDATE attempts SET ended_at = ?, duration_ms = ?, http_status = ?, error = ?, error_detail = ?,
    answer_headers = ?, answer_body = ?, answer_truncated = ?
  WHERE rowid = ? AND ended_at IS NULL`;
const OF_DELIVERY = `
  SELECT ${SUMMARY_COLUMNS}, request_url AS requestUrl, request_headers AS requestHeaders, request_body AS requestBody,
    answer_headers AS answerHeaders, answer_body AS answerBody, answer_truncated AS answerTruncated
  FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq WHERE d.id = ? ORDER BY number`;
const SUMMARIES = `
  SELECT ${SUMMARY_COLUMNS} FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq
  WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.seq, number`;
const LEFT_OPEN = `
  SELECT a.rowid AS row, d.id AS deliveryId, a.number, a.started_at AS startedAtMs
  FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq AND a.number = d.attempts_made
  WHERE d.state = 'attempting' AND d.next_attempt_at IS NULL AND a.ended_at IS NULL`;

const requestHeadersSchema = z.record(z.string(), z.string());
const answerHeadersSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

export type Attempts = ReturnType<typeof createAttempts>;

/** The attempts of every delivery, recorded before they are sent. */
export function createAttempts(options: { database: Database }) {
  const { database } = options;
  const open = database.prepare(OPEN);
  const close = database.prepare(CLOSE);
  const ofDelivery = database.prepare<[string], AttemptRow>(OF_DELIVERY);
  const summaries = database.prepare<[string], AttemptSummary>(SUMMARIES);
  const leftOpen = database.prepare<[], LeftOpen>(LEFT_OPEN);

  return {
    open({ seq }: { seq: number }, attempt: NewAttempt): number {
      const { lastInsertRowid } = open.run(
        seq,
        attempt.number,
        attempt.scheduledAtMs,
        attempt.startedAtMs,
        attempt.wallStartedAtMs,
        attempt.signatureTimestamp,
        attempt.requestUrl,
        JSON.stringify(attempt.requestHeaders),
        attempt.requestBody,
      );
      return Number(lastInsertRowid);
    },
    /** Records how an attempt ended; has no effect on one that has ended. */
    close(
      { row }: Pick<OpenAttempt, "row">,
      end: { endedAtMs: number; durationMs: number | null; outcome: Outcome; answer?: Answer | undefined },
    ): void {
      const { outcome, answer } = end;
      close.run(
        end.endedAtMs,
        end.durationMs === null ? null : Math.round(end.durationMs),
        "status" in outcome ? outcome.status : null,
        "error" in outcome ? outcome.error : null,
        "error" in outcome ? (outcome.detail ?? null) : null,
        answer ? JSON.stringify(answer.headers) : null,
        answer ? answer.body : null,
        answer?.truncated ? 1 : 0,
        row,
      );
    },
    ofDelivery: (deliveryId: string): Attempt[] => ofDelivery.all(deliveryId).map(fromRow),
    summariesOf: (deliveryIds: readonly string[]): Map<string, AttemptSummary[]> =>
      Map.groupBy(summaries.all(JSON.stringify(deliveryIds)), ({ deliveryId }) => deliveryId),
    /** Attempts that an earlier process with this data file began and did not end. */
    leftOpen: (): LeftOpen[] => leftOpen.all(),
  };
}

function fromRow({ answerHeaders, answerBody, answerTruncated, ...row }: AttemptRow): Attempt {
  const body = answerBody ?? Buffer.alloc(0);
  return {
    ...row,
    requestHeaders: requestHeadersSchema.parse(JSON.parse(row.requestHeaders)),
    answer:
      answerHeaders === null
        ? null
        : {
            headers: answerHeadersSchema.parse(JSON.parse(answerHeaders)),
            body,
            truncated: answerTruncated === 1,
          },
  };
}

/** An attempt with its injected fault and the cause of its failure (null: it did not fail). */
export type JudgedAttempt = AttemptSummary & { injected: Fault[]; fault: string | null; blame: Blame | null };

/** Who caused a failed attempt; null if it did not fail. Failures by our faults and interruptions are ours. */
export function blameOf(
  attempt: Pick<AttemptSummary, "httpStatus" | "error">,
  injected: readonly Fault[],
): Blame | null {
  const { httpStatus, error } = attempt;
  if (error === null && (httpStatus === null || isSuccess(httpStatus))) return null;
  return injected.length > 0 || error === "interrupted" ? "simulator" : "receiver";
}

/** Counts attempts of one endpoint, without our own failures; `p95Ms` is null if no answer came. */
export function answerFigures(attempts: readonly JudgedAttempt[]) {
  const counted = attempts.filter(({ endedAtMs, blame }) => endedAtMs !== null && blame !== "simulator");
  const acknowledged = counted.filter(({ httpStatus }) => httpStatus !== null && isSuccess(httpStatus));
  const tookMs = counted
    .flatMap(({ httpStatus, durationMs }) => (httpStatus === null || durationMs === null ? [] : [durationMs]))
    .toSorted((left, right) => left - right);
  return {
    counted: counted.length,
    acknowledged: acknowledged.length,
    p95Ms: tookMs[Math.ceil(tookMs.length * 0.95) - 1] ?? null,
  };
}

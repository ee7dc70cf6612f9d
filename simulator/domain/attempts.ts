import type { Database } from "better-sqlite3";
import { z } from "zod";
import type { Answer, AttemptError, Outcome } from "./outcome.ts";

/** One HTTP try, without what was sent and answered. `…AtMs` are schedule time unless the name says wall. */
export type AttemptSummary = {
  deliveryId: string;
  number: number;
  scheduledAtMs: number;
  startedAtMs: number;
  endedAtMs: number | null;
  wallStartedAtMs: number;
  /** Wall time until the outcome was known. */
  durationMs: number | null;
  /** The `t` of this attempt's signature, seconds of Unix time. */
  signatureTimestamp: number;
  httpStatus: number | null;
  error: AttemptError | null;
  errorDetail: string | null;
};

/** One HTTP try with everything. */
export type Attempt = AttemptSummary & {
  /** Where it was sent; null in what an earlier version recorded, whose headers are those of the signature alone. */
  requestUrl: string | null;
  /** All of them, in their order on the wire. */
  requestHeaders: Record<string, string>;
  /** The bytes sent, where they were not the delivery's own. */
  requestBody: Buffer | null;
  answer: Answer | null;
};

/** An attempt that was begun and not ended; `row` is its place in the table for as long as this process runs. */
export type OpenAttempt = { row: number; number: number; startedAtMs: number };

type LeftOpen = OpenAttempt & { deliveryId: string };

type SummaryRow = {
  delivery_id: string;
  number: number;
  scheduled_at: number;
  started_at: number;
  ended_at: number | null;
  wall_started_at: number;
  duration_ms: number | null;
  signature_timestamp: number;
  http_status: number | null;
  error: AttemptError | null;
  error_detail: string | null;
};

type AttemptRow = SummaryRow & {
  request_url: string | null;
  request_headers: string;
  request_body: Buffer | null;
  answer_headers: string | null;
  answer_body: Buffer | null;
  answer_truncated: number;
};

const OPEN = `
  INSERT INTO attempts (delivery_seq, number, scheduled_at, started_at, wall_started_at, signature_timestamp,
    request_url, request_headers, request_body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CLOSE = `
  UPDATE attempts SET ended_at = ?, duration_ms = ?, http_status = ?, error = ?, error_detail = ?,
    answer_headers = ?, answer_body = ?, answer_truncated = ?
  WHERE rowid = ? AND ended_at IS NULL`;
const OF_DELIVERY = `
  SELECT d.id AS delivery_id, a.* FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq
  WHERE d.id = ? ORDER BY number`;
const SUMMARIES = `
  SELECT d.id AS delivery_id, number, scheduled_at, started_at, ended_at, wall_started_at, duration_ms,
    signature_timestamp, http_status, error, error_detail
  FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq
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
  const summaries = database.prepare<[string], SummaryRow>(SUMMARIES);
  const leftOpen = database.prepare<[], LeftOpen>(LEFT_OPEN);

  return {
    /** Records that an attempt is about to be made; answers its place in the table. */
    open(
      { seq }: { seq: number },
      attempt: Pick<
        Attempt,
        | "number"
        | "scheduledAtMs"
        | "startedAtMs"
        | "wallStartedAtMs"
        | "signatureTimestamp"
        | "requestUrl"
        | "requestHeaders"
        | "requestBody"
      >,
    ): number {
      const { number, scheduledAtMs, startedAtMs, wallStartedAtMs, signatureTimestamp, requestBody } =
        attempt;
      const headers = JSON.stringify(attempt.requestHeaders);
      const { lastInsertRowid } = open.run(
        seq,
        number,
        scheduledAtMs,
        startedAtMs,
        wallStartedAtMs,
        signatureTimestamp,
        attempt.requestUrl,
        headers,
        requestBody,
      );
      return Number(lastInsertRowid);
    },
    /** Records how an attempt ended; one that has ended already stays as it is. */
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
    /** The attempts of many deliveries, by delivery id; reads no headers and no bodies. */
    summariesOf: (deliveryIds: readonly string[]): Map<string, AttemptSummary[]> =>
      Map.groupBy(
        summaries.all(JSON.stringify(deliveryIds)).map(summaryFromRow),
        ({ deliveryId }) => deliveryId,
      ),
    /** Attempts that an earlier life of this data file began and did not end. */
    leftOpen: (): LeftOpen[] => leftOpen.all(),
  };
}

function fromRow(row: AttemptRow): Attempt {
  return {
    ...summaryFromRow(row),
    requestUrl: row.request_url,
    requestHeaders: requestHeadersSchema.parse(JSON.parse(row.request_headers)),
    requestBody: row.request_body,
    answer: row.answer_headers === null ? null : answerOf(row, row.answer_headers),
  };
}

function summaryFromRow(row: SummaryRow): AttemptSummary {
  return {
    deliveryId: row.delivery_id,
    number: row.number,
    scheduledAtMs: row.scheduled_at,
    startedAtMs: row.started_at,
    endedAtMs: row.ended_at,
    wallStartedAtMs: row.wall_started_at,
    durationMs: row.duration_ms,
    signatureTimestamp: row.signature_timestamp,
    httpStatus: row.http_status,
    error: row.error,
    errorDetail: row.error_detail,
  };
}

function answerOf(row: AttemptRow, headers: string): Answer {
  return {
    headers: answerHeadersSchema.parse(JSON.parse(headers)),
    body: row.answer_body ?? Buffer.alloc(0),
    truncated: row.answer_truncated === 1,
  };
}

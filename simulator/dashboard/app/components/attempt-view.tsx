import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, outcomeWord } from "../core/words.ts";
import { causeOf, CAUSES } from "../../../domain/causes.ts";
import { OutcomeChip } from "./chips.tsx";
import { BodyView } from "./code-view.tsx";
import { Panel, Table } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";

type AttemptViewProps = { attempt: AttemptDetail; before: AttemptDetail | undefined };

/**
 * An attempt: how it ended and why, what was sent, what came back, what differs from the attempt before, and whether the
 * signature holds.
 */
export function AttemptView({ attempt, before }: AttemptViewProps) {
  const { request, answer, duration_ms: durationMs } = attempt;
  return (
    <div class="stack">
      <div class="attempt-head flex wraps">
        <h2>Attempt {attempt.number}</h2>
        <OutcomeChip attempt={attempt} />
        <p>
          {outcomeSentence(attempt)}{" "}
          {attempt.error_detail && <code class="foreign muted">{attempt.error_detail}</code>}
        </p>
        <p class="muted small">
          Due {fullTimeOf(attempt.scheduled_at)} · sent {fullTimeOf(attempt.wall_started_at)} real time
          {durationMs === null ? "" : ` · took ${millisecondsOf(durationMs)}`}
        </p>
      </div>
      <div class="pair messages stack">
        <Panel title="Answer" aside="what came back">
          {answer ? (
            <Message name="Answer" {...answer} note={answer.truncated ? "the first 16 KiB" : undefined} />
          ) : (
            <p class="muted">{attempt.ended_at === null ? "None yet." : "There was none."}</p>
          )}
        </Panel>
        <Panel title="Request" aside="what we sent">
          {request.line && <code class="request-line foreign">{request.line}</code>}
          <Message name="Request" {...request} />
        </Panel>
      </div>
      {before && <AttemptDifference before={before} attempt={attempt} />}
      <SignatureView attempt={attempt} />
    </div>
  );
}

/** How an attempt ended, in a sentence, with what to look at. */
function outcomeSentence({
  ended_at: endedAt,
  blame,
  fault,
  http_status: status,
  error,
}: AttemptDetail): string {
  if (endedAt === null) return "Under way: the receiver has 10 seconds to answer.";
  if (blame === "simulator" && fault)
    return `Made to fail on purpose (${fault}): the receiver is not to blame.`;
  const name = causeOf(error === null ? { status: status ?? 0 } : { error });
  if (name === undefined) return "Acknowledged: a 2xx within 10 seconds delivers the event.";
  return `${CAUSES[name].words}. ${CAUSES[name].fix}`;
}

type MessageProps = {
  name: string;
  body: string;
  headers: Record<string, string | string[]>;
  note?: string | undefined;
};

function Message({ name, body, headers, note }: MessageProps) {
  const rows = Object.entries(headers).flatMap(([key, value]) => [value].flat().map((one) => [key, one]));
  return (
    <>
      <BodyView text={body} label={`${name} body`} note={note} />
      {rows.length === 0 ? (
        <p class="muted">No headers.</p>
      ) : (
        <details>
          <summary>
            {name} headers <span class="muted">({rows.length})</span>
          </summary>
          <Table className="headers" label={`${name} headers`} rows={rows} />
        </details>
      )}
    </>
  );
}

/** Headers that differ on every answer and say nothing about it. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);

type Answer = AttemptDetail["answer"];
type Part = readonly [name: string, before: string, after: string];

/** What differs in this attempt from the one before it. */
function AttemptDifference({ before, attempt }: { before: AttemptDetail; attempt: AttemptDetail }) {
  const parts: Part[] = [
    ["Outcome", outcomeWord(before), outcomeWord(attempt)],
    ["Took", tookWords(before), tookWords(attempt)],
    ...headerParts(before.answer, attempt.answer),
    ["Body of the answer", before.answer?.body ?? "", attempt.answer?.body ?? ""],
    ["Body we sent", "", before.request.body === attempt.request.body ? "" : "other bytes"],
    ["Signed with t", before.signature.t ?? "none", attempt.signature.t ?? "none"],
  ];
  const { same = [], other = [] } = Object.groupBy(parts, ([, was, is]) => (was === is ? "same" : "other"));
  return (
    <Panel kind="difference" title={`Compared with attempt ${before.number}`}>
      <Table
        label={`Attempts ${before.number} and ${attempt.number}`}
        head={["", `Attempt ${before.number}`, `Attempt ${attempt.number}`]}
        rows={other.map((part) => [...part])}
      />
      {same.length > 0 && (
        <p class="muted">The same: {same.map(([name]) => name.toLowerCase()).join(", ")}.</p>
      )}
    </Panel>
  );
}

function tookWords({ duration_ms: durationMs }: AttemptDetail): string {
  return durationMs === null ? "under way" : millisecondsOf(durationMs);
}

/** Each header of the answers that is not the same in both. */
function headerParts(before: Answer, after: Answer): Part[] {
  const names = Object.keys({ ...before?.headers, ...after?.headers });
  const wordsOf = (answer: Answer, name: string) => [answer?.headers[name] ?? "none"].flat().join(", ");
  return names
    .filter((name) => !PASSING_HEADERS.has(name.toLowerCase()))
    .map((name) => [name, wordsOf(before, name), wordsOf(after, name)] as const)
    .filter(([, was, is]) => was !== is);
}

import { useState } from "preact/hooks";
import { hrefTo } from "../core/route.ts";
import { attemptState } from "../core/schedule.ts";
import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, outcomeWord } from "../core/words.ts";
import { causeOf, CAUSES } from "../../../domain/causes.ts";
import { Button, CopyButton, Segments } from "./button.tsx";
import { OutcomeChip } from "./chips.tsx";
import { BodyView } from "./code-view.tsx";
import { Panel, Table } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";

/** What can be done with an attempt: asked for as curl, changed and sent again. */
type AttemptTools = { curl: () => Promise<string | undefined>; onEdit: () => void };
type AttemptViewProps = AttemptTools & { attempt: AttemptDetail; attempts: AttemptDetail[] };

/**
 * One of the `attempts`: how it ended and why, what is otherwise than in another one, what was sent, what came back, and whether the
 * signature holds. One that failed has what helps to find out why.
 */
export function AttemptView({ attempt, attempts, ...tools }: AttemptViewProps) {
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
      {attemptState(attempt) === "failed" && <DebugKit {...tools} />}
      <AttemptDifference attempts={attempts} attempt={attempt} />
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

/** What helps to find out why an attempt failed: the same request once more, as it was or changed at will. */
function DebugKit({ curl, onEdit }: AttemptTools) {
  return (
    <Panel kind="debug-kit" title="Find out why">
      <div class="actions flex wraps">
        <Button
          icon="edit"
          title="Change it, and send it to this endpoint alone (e)"
          onClick={onEdit}
          words="Edit and send again"
        />
        <CopyButton text={curl} label="Copy as curl, signed now" title="Good for 5 minutes (c)" />
        <Button icon="book" href={hrefTo("/docs#signature")} words="How a signature is verified" />
      </div>
    </Panel>
  );
}

/** Headers that differ on every answer and say nothing about it. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);

type Answer = AttemptDetail["answer"];
type Part = readonly [name: string, before: string, after: string];

/** What is otherwise in this attempt than in an earlier one, at first the one before it. */
function AttemptDifference({ attempts, attempt }: { attempts: AttemptDetail[]; attempt: AttemptDetail }) {
  const [number, setNumber] = useState(attempt.number - 1);
  const others = attempts.slice(0, attempt.number - 1);
  const before = others.find((other) => other.number === number);
  if (before === undefined) return null;
  const parts: Part[] = [
    ["Outcome", outcomeWord(before), outcomeWord(attempt)],
    ["Took", tookWords(before), tookWords(attempt)],
    ...headerParts(before.answer, attempt.answer),
    ["Body of the answer", before.answer?.body ?? "", attempt.answer?.body ?? ""],
    ["Body we sent", "", before.request.body === attempt.request.body ? "" : "other bytes"],
    ["Signed with t", before.signature.t ?? "none", attempt.signature.t ?? "none"],
  ];
  const { same = [], other = [] } = Object.groupBy(parts, ([, was, is]) => (was === is ? "same" : "other"));
  const choices = others.map((one) => [String(one.number), String(one.number)] as const);
  return (
    <Panel
      kind="difference"
      title={`Compared with attempt ${before.number}`}
      aside={
        others.length > 1 && (
          <Segments
            label="Compare with attempt"
            value={String(before.number)}
            options={choices}
            onChange={(next) => setNumber(Number(next))}
          />
        )
      }
    >
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

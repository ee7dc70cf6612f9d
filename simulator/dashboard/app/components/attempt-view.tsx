import { useState } from "preact/hooks";
import { attemptState } from "../core/schedule.ts";
import { programFor } from "../core/snippets.ts";
import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, outcomeSentence, outcomeWord } from "../core/words.ts";
import { Button, Copyable, CopyButton, Segments } from "./button.tsx";
import { OutcomeChip } from "./chips.tsx";
import { BodyView, Code, useLanguage } from "./code-view.tsx";
import { Panel, Table } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";
import { diffArrays } from "diff";

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
      <div class="pair stack">
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
      {attemptState(attempt) === "failed" && <DebugKit attempt={attempt} {...tools} />}
      <AttemptDifference attempts={attempts} attempt={attempt} />
      <SignatureView attempt={attempt} />
    </div>
  );
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

/** What helps to find out why an attempt failed: the same request once more, changed at will, and code that verifies it. */
function DebugKit({ attempt, curl, onEdit }: AttemptTools & { attempt: AttemptDetail }) {
  const [isOpen, setOpen] = useState(false);
  const { language, choice } = useLanguage();
  const program = isOpen ? programFor(language, attempt) : "";
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
      </div>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Verify its signature in your language</summary>
        <div class="stack near">
          <div class="flex wraps between">
            {choice}
            <CopyButton small text={program} label="Copy program" />
          </div>
          <p class="muted">
            Asks about this very request, as of when it was sent, and prints whether a correct receiver trusts
            it:
          </p>
          <p>
            <Copyable text={`SIGNING_SECRET='whsec_…' ${language.run}`} label="Copy how it is run" />
          </p>
          <Code text={program} label={`Verification in ${language.name}`} />
        </div>
      </details>
    </Panel>
  );
}

/** Headers that differ on every answer and say nothing about it. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);
/** Longer texts are not compared line by line: it would take longer than it helps. */
const MOST_LINES = 400;

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
      {attempt.ended_at !== null && (
        <AnswerBodies was={before.answer?.body ?? ""} is={attempt.answer?.body ?? ""} />
      )}
      {same.length > 0 && (
        <p class="muted">The same: {same.map(([name]) => name.toLowerCase()).join(", ")}.</p>
      )}
    </Panel>
  );
}

function AnswerBodies({ was, is }: { was: string; is: string }) {
  if (was === is) return <p class="muted">The body of the answer is the same.</p>;
  const linesOf = (text: string) => text.split("\n").slice(0, MOST_LINES);
  const lines = diffArrays(linesOf(was), linesOf(is), { oneChangePerToken: true });
  return (
    <>
      <h3>Body of the answer</h3>
      <pre
        class="code well foreign lines"
        tabindex={0}
        role="region"
        aria-label="What is otherwise in the answer"
      >
        {lines.map(({ removed, added, value }, index) => (
          <span key={index} class={`line ${removed ? "gone" : added ? "new" : "same"}`}>
            {`${removed ? "−" : added ? "+" : " "} ${value.join("")}`}
          </span>
        ))}
      </pre>
    </>
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

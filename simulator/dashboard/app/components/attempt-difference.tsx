import { useState } from "preact/hooks";
import type { AttemptDetail } from "../core/types.ts";
import { millisecondsOf, outcomeWord } from "../core/words.ts";
import { Segments } from "./button.tsx";
import { Panel } from "./page.tsx";
import { Table } from "./table.tsx";
import { diffArrays } from "diff";

/** Differ on every answer, and say nothing. */
const PASSING_HEADERS = new Set(["date", "age", "x-request-id", "content-length", "etag"]);
/** Longer texts are not compared line by line: it would take longer than it helps. */
const MOST_LINES = 400;

type Answer = AttemptDetail["answer"];
type Part = readonly [name: string, before: string, after: string];

/** What is otherwise in this attempt than in an earlier one, at first the one before it. */
export function AttemptDifference({
  attempts,
  attempt,
}: {
  attempts: AttemptDetail[];
  attempt: AttemptDetail;
}) {
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
      className="difference"
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
      {attempt.ended_at !== null && <AnswerBodies was={bodyOf(before)} is={bodyOf(attempt)} />}
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

function bodyOf({ answer }: AttemptDetail): string {
  return answer?.body ?? "";
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

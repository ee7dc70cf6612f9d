import { useState } from "preact/hooks";
import { differenceOf, linesOf } from "../core/difference.ts";
import type { AttemptDetail } from "../core/types.ts";
import { Segments } from "./code-view.tsx";
import { Panel } from "./page.tsx";
import { Table } from "./table.tsx";

const LINES = "What is otherwise in the answer";
const MARKS = { gone: "−", new: "+", same: " " };

type AttemptDifferenceProps = { attempts: AttemptDetail[]; attempt: AttemptDetail };

/** What is otherwise in this attempt than in an earlier one: at first the one before it. */
export function AttemptDifference({ attempts, attempt }: AttemptDifferenceProps) {
  const [number, setNumber] = useState(attempt.number - 1);
  const others = attempts.slice(0, attempt.number - 1);
  const before = others.find((other) => other.number === number);
  if (before === undefined) return null;
  const parts = differenceOf(before, attempt);
  const other = parts.filter(({ isSame }) => !isSame);
  const same = parts.filter(({ isSame }) => isSame).map(({ name }) => name.toLowerCase());
  return (
    <Panel
      className="difference"
      title={`Compared with attempt ${before.number}`}
      aside={
        others.length > 1 && (
          <Segments
            label="Compare with attempt"
            value={String(before.number)}
            options={others.map((other) => [String(other.number), String(other.number)])}
            onChange={(next) => setNumber(Number(next))}
          />
        )
      }
    >
      <Table
        label={`Attempts ${before.number} and ${attempt.number}`}
        head={["", `Attempt ${before.number}`, `Attempt ${attempt.number}`]}
        rows={other.map(({ name, before: was, after: is }) => [name, was, is])}
      />
      {attempt.ended_at !== null && (
        <AnswerBodies was={before.answer?.body ?? ""} is={attempt.answer?.body ?? ""} />
      )}
      {same.length > 0 && <p class="muted">The same: {same.join(", ")}.</p>}
    </Panel>
  );
}

function AnswerBodies({ was, is }: { was: string; is: string }) {
  if (was === is) return <p class="muted">The body of the answer is the same.</p>;
  const lines = linesOf(was, is).map(({ kind, text }, index) => (
    <span key={index} class={`line ${kind}`}>{`${MARKS[kind]} ${text}`}</span>
  ));
  return (
    <>
      <h3>Body of the answer</h3>
      <pre class="code well foreign lines" tabindex={0} role="region" aria-label={LINES}>
        {lines}
      </pre>
    </>
  );
}

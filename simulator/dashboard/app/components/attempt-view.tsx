import { fullTimeOf, millisecondsOf } from "../core/format.ts";
import { attemptState } from "../core/schedule.ts";
import type { AttemptDetail } from "../core/types.ts";
import { outcomeSentence } from "../core/words.ts";
import { AttemptDifference } from "./attempt-difference.tsx";
import { OutcomeChip } from "./chips.tsx";
import { BodyView } from "./code-view.tsx";
import { type AttemptTools, DebugKit } from "./debug-kit.tsx";
import { Panel } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";
import { Table } from "./table.tsx";

type AttemptViewProps = AttemptTools & { attempt: AttemptDetail; attempts: AttemptDetail[] };

/**
 * One of the `attempts`: how it ended and why, what is otherwise than in another one, what was sent, what came back, and whether the
 * signature holds. One that failed has what helps to find out why.
 */
export function AttemptView({ attempt, attempts, curl, onEdit }: AttemptViewProps) {
  const { request, answer } = attempt;
  return (
    <div class="attempt">
      <div class="attempt-head flex wraps">
        <h2>Attempt {attempt.number}</h2>
        <OutcomeChip attempt={attempt} />
        <p>
          {outcomeSentence(attempt)}{" "}
          {attempt.error_detail && <code class="foreign muted">{attempt.error_detail}</code>}
        </p>
        <p class="muted small">
          Due {fullTimeOf(attempt.scheduled_at)} · sent {fullTimeOf(attempt.wall_started_at)} real time
          {attempt.duration_ms === null ? "" : ` · took ${millisecondsOf(attempt.duration_ms)}`}
        </p>
      </div>
      <div class="exchange pair stack">
        <Panel title="Answer" aside="what came back">
          {answer ? (
            <>
              <BodyView
                text={answer.body}
                label="Answer body"
                note={answer.truncated ? "the first 16 KiB" : undefined}
              />
              <Headers headers={answer.headers} label="Answer headers" />
            </>
          ) : (
            <p class="muted none">{attempt.ended_at === null ? "None yet." : "There was none."}</p>
          )}
        </Panel>
        <Panel title="Request" aside="what we sent">
          {request.line && <code class="request-line foreign">{request.line}</code>}
          <BodyView text={request.body} label="Request body" />
          <Headers headers={request.headers} label="Request headers" />
        </Panel>
      </div>
      {attemptState(attempt) === "failed" && <DebugKit attempt={attempt} curl={curl} onEdit={onEdit} />}
      <AttemptDifference attempts={attempts} attempt={attempt} />
      <SignatureView attempt={attempt} />
    </div>
  );
}

function Headers({ headers, label }: { headers: Record<string, string | string[]>; label: string }) {
  const rows = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  if (rows.length === 0) return <p class="muted none">No headers.</p>;
  return (
    <details>
      <summary>
        {label} <span class="muted">({rows.length})</span>
      </summary>
      <Table className="headers" label={label} rows={rows} />
    </details>
  );
}

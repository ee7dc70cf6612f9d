import { useState } from "preact/hooks";
import { attemptState } from "../core/schedule.ts";
import { programFor } from "../core/snippets.ts";
import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, outcomeSentence } from "../core/words.ts";
import { AttemptDifference } from "./attempt-difference.tsx";
import { Button, Copyable, CopyButton } from "./button.tsx";
import { OutcomeChip } from "./chips.tsx";
import { BodyView, Code } from "./code-view.tsx";
import { useLanguage } from "./docs-signature.tsx";
import { Panel } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";
import { Table } from "./table.tsx";

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
            <p class="muted none">{attempt.ended_at === null ? "None yet." : "There was none."}</p>
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
        <p class="muted none">No headers.</p>
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
    <Panel className="debug-kit" title="Find out why">
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

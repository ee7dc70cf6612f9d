import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, millisecondsOf } from "../core/words.ts";
import { causeOf, CAUSES } from "../../../domain/causes.ts";
import { OutcomeChip } from "./chips.tsx";
import { BodyView } from "./code-view.tsx";
import { Panel, Table } from "./page.tsx";
import { SignatureView } from "./signature-view.tsx";

/** An attempt: how it ended and why, the request, the answer, and whether the signature verifies. */
export function AttemptView({ attempt }: { attempt: AttemptDetail }) {
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
      <SignatureView attempt={attempt} />
    </div>
  );
}

/** How an attempt ended, in a sentence, with what to look at. */
function outcomeSentence({ ended_at: endedAt, blame, fault, ...attempt }: AttemptDetail): string {
  const { http_status: status, error } = attempt;
  if (endedAt === null) return "Under way: the receiver has 10 seconds to answer.";
  if (blame === "simulator" && fault) return `Failed on purpose (${fault}): the receiver is not to blame.`;
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

import { fullTimeOf, millisecondsOf } from "../core/format.js";
import { html } from "../core/html.js";
import { attemptState } from "../core/schedule.js";
import { outcomeSentence } from "../core/words.js";
import { AttemptDifference } from "./attempt-difference.js";
import { OutcomeChip } from "./chips.js";
import { BodyView } from "./code-view.js";
import { DebugKit } from "./debug-kit.js";
import { Panel } from "./page.js";
import { SignatureView } from "./signature-view.js";

/**
 * One attempt: how it ended and why, what is otherwise than `before`, what was sent, what came back, and whether the
 * signature holds. One that failed has what helps to find out why.
 */
export function AttemptView({ attempt, before, curl, onEdit }) {
  const { request, answer } = attempt;
  return html`<div class="attempt">
    <div class="attempt-head">
      <h3>Attempt ${attempt.number}</h3>
      <${OutcomeChip} attempt=${attempt} />
      <p>
        ${outcomeSentence(attempt)}
        ${attempt.error_detail && html`<code class="foreign muted">${attempt.error_detail}</code>`}
      </p>
      <p class="muted small">
        Due ${fullTimeOf(attempt.scheduled_at)} · sent ${fullTimeOf(attempt.wall_started_at)} real
        time${attempt.duration_ms === null ? "" : ` · took ${millisecondsOf(attempt.duration_ms)}`}
      </p>
    </div>
    ${attemptState(attempt) === "failed" && html`<${DebugKit} attempt=${attempt} curl=${curl} onEdit=${onEdit} />`}
    ${before !== undefined && html`<${AttemptDifference} before=${before} attempt=${attempt} />`}
    <div class="exchange">
      <${Panel} title="Request" aside="what we sent">
        ${request.line && html`<code class="request-line foreign">${request.line}</code>`}
        <${Headers} headers=${request.headers} label="Request headers" />
        <${BodyView} text=${request.body} label="Request body" />
      <//>
      <${Panel} title="Answer" aside="what came back">
        ${
          answer
            ? html`<${Headers} headers=${answer.headers} label="Answer headers" />
                <${BodyView}
                  text=${answer.body}
                  label="Answer body"
                  note=${answer.truncated ? "the first 16 KiB" : undefined}
                />`
            : html`<p class="muted none">${attempt.ended_at === null ? "None yet." : "There was none."}</p>`
        }
      <//>
    </div>
    <${SignatureView} attempt=${attempt} />
  </div>`;
}

function Headers({ headers, label }) {
  const rows = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  if (rows.length === 0) return html`<p class="muted none">No headers.</p>`;
  return html`<table class="headers">
    <caption class="visually-hidden">
      ${label}
    </caption>
    <tbody>
      ${rows.map(
        ([name, value], index) =>
          html`<tr key=${`${name} ${index}`}>
            <th scope="row" class="foreign">${name}</th>
            <td class="foreign">${value}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

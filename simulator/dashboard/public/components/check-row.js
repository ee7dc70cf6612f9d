import { useMemo } from "preact/hooks";
import { shortOf } from "../core/format.js";
import { html } from "../core/html.js";
import { Chip } from "./chips.js";
import { Code } from "./code-view.js";
import { CopyButton } from "./copy-button.js";
import { Icon } from "./icon.js";

const MOST_OF_A_HEADER = 2_000;

/** What a check of a report counts as, the worst first: its words, colour and mark. */
export const STANDINGS = {
  failed: { title: "Failed", word: "failed", tone: "bad", icon: "cross" },
  advice: { title: "Advice that is not followed", word: "advice", tone: "wait", icon: "flag" },
  unverified: { title: "Could not be judged", word: "not judged", tone: "plain", icon: "question" },
  passed: { title: "Passed", word: "passed", tone: "ok", icon: "check" },
};

/** A piece of advice that is not followed fails no run. */
export function standingOf({ outcome, level, known }) {
  if (outcome === "failed") return level === "advice" || known === true ? "advice" : "failed";
  return Object.hasOwn(STANDINGS, outcome) ? outcome : "unverified";
}

/** One check in a line, that opens to what was sent for it, what came back, the rule and what to do. */
export function CheckRow({ check }) {
  // Others come in meanwhile, hundreds of them: this one is made once.
  return useMemo(() => checkRow(check), [check]);
}

function checkRow(check) {
  const { id, title, level, explanation, hint, rule, repeat, evidence = [] } = check;
  const { tone, icon, word } = STANDINGS[standingOf(check)];
  return html`<li class=${`check-row ${tone}`}>
    <details>
      <summary>
        <${Icon} name=${icon} size=${16} />
        <span class="check-words">
          <span class="check-title foreign">${title}</span> <code class="muted foreign">${id}</code>
          ${explanation && html`<span class="check-why foreign">${explanation}</span>`}
        </span>
        <span class="check-side">
          ${level && html`<span class="muted">${level}</span>`}<${Chip} tone=${tone}>${word}<//>
        </span>
      </summary>
      <div class="check-detail">
        ${rule && html`<p class="foreign"><span class="muted">${rule.section}:</span> ${rule.text}</p>`}
        ${hint && html`<p class="foreign"><span class="muted">To do:</span> ${hint}</p>`}
        ${repeat && html`<p class="repeat"><code class="foreign">${repeat}</code><${CopyButton} quiet text=${repeat} label="Copy the command that repeats it" /></p>`}
        ${evidence.map((exchange, index) => html`<${Exchange} key=${index} exchange=${exchange} label=${`${id}, ${index + 1}`} />`)}
        ${evidence.length === 0 && html`<p class="muted">There is no request of its own to show.</p>`}
      </div>
    </details>
  </li>`;
}

/** What was sent and what came back. */
function Exchange({ exchange, label }) {
  const { sent, received, curl, duration_ms: durationMs } = exchange;
  return html`<div class="evidence">
    <div>
      <h3>Request</h3>
      ${sent?.note && html`<p class="muted foreign">${sent.note}</p>`}
      <${Code} text=${messageText(sent)} label=${`Request: ${label}`} />
      ${curl && html`<${CopyButton} small text=${curl} label="Copy as curl" title="Signs afresh with $SIGNING_SECRET" />`}
    </div>
    <div>
      <h3>Answer${durationMs !== undefined && html`<span class="muted"> after ${durationMs} ms</span>`}</h3>
      <${Code} text=${messageText(received)} label=${`Answer: ${label}`} />
    </div>
  </div>`;
}

function messageText({ method, url, status, headers = [], body = "", error, message } = {}) {
  if (error !== undefined) return `${error}: ${message}`;
  const first = status === undefined ? `${method} ${url}` : `HTTP ${status}`;
  const lines = headers.map(([name, value]) => `${name}: ${shortOf(value, MOST_OF_A_HEADER)}`);
  return [first, ...lines, "", body].join("\n");
}

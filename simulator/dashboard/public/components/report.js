import { useState } from "preact/hooks";
import { numberOf, shortOf } from "../core/format.js";
import { html } from "../core/html.js";
import { Chip } from "./chips.js";
import { BodyView, Code, Segments } from "./code-view.js";
import { CopyButton } from "./copy-button.js";
import { Icon } from "./icon.js";

const OUTCOMES = { passed: ["ok", "check"], failed: ["bad", "cross"], unverified: ["wait", "flag"] };
const VERDICTS = {
  passed: ["ok", "The receiver passed"],
  failed: ["bad", "The receiver failed"],
  could_not_run: ["wait", "Nothing could be verified"],
};

/** A report of `verify`: the verdict, then the checks by group with their evidence. */
export function Report({ report }) {
  const checks = Array.isArray(report.checks) ? report.checks : undefined;
  const [shown, setShown] = useState("");
  if (checks === undefined) return html`<${BodyView} text=${JSON.stringify(report)} label="Report" />`;

  const counted = (outcome) => checks.filter((check) => check.outcome === outcome).length;
  const options = [
    ["", `All ${checks.length}`],
    ...Object.keys(OUTCOMES).map((outcome) => [outcome, `${counted(outcome)} ${outcome}`]),
  ];
  const visible = checks.filter((check) => shown === "" || check.outcome === shown);
  const groups = Map.groupBy(visible, (check) => check.group ?? String(check.id).split(".")[0]);
  return html`<${Verdict} report=${report} />
    <div class="toolbar">
      <${Segments} label="Outcome" value=${shown} options=${options} onChange=${setShown} />
    </div>
    ${[...groups].map(
      ([group, members]) =>
        html`<section class="panel report-group" key=${group}>
          <header><h2>${group}</h2></header>
          <ul>
            ${members.map((check) => html`<${CheckRow} key=${check.id} check=${check} />`)}
          </ul>
        </section>`,
    )}`;
}

function Verdict({ report }) {
  const { verdict, url, seed, duration_ms: durationMs, summary } = report;
  const [tone, words] = VERDICTS[verdict] ?? ["plain", String(verdict ?? "A report")];
  return html`<div class=${`report-verdict ${tone}`}>
    <${Icon} name=${OUTCOMES[verdict]?.[1] ?? "flag"} size=${22} />
    <div>
      <b>${words}</b>
      <p class="foreign">${url}</p>
    </div>
    <p class="muted">
      ${durationMs !== undefined && `${numberOf(Math.round(durationMs / 100) / 10)} s`}
      ${seed !== undefined && html` · seed <code class="foreign">${shortOf(String(seed), 24)}</code>`}
      ${summary?.not_run > 0 && ` · ${summary.not_run} not run`}
    </p>
  </div>`;
}

function CheckRow({ check }) {
  const { id, title, outcome, level, explanation, hint, rule, repeat, evidence = [] } = check;
  const [tone, icon] = OUTCOMES[outcome] ?? ["plain", "flag"];
  return html`<li class=${`check-row ${tone}`}>
    <${Icon} name=${icon} size=${16} />
    <div>
      <p><b class="foreign">${title}</b> <span class="muted">${id}</span></p>
      ${explanation && html`<p class="foreign">${explanation}</p>`}
      ${
        outcome === "failed" &&
        html`${rule && html`<p class="muted foreign">${rule.section}: ${rule.text}</p>`}
        ${hint && html`<p class="muted foreign">${hint}</p>`}
        ${repeat && html`<p class="repeat"><code class="foreign">${repeat}</code><${CopyButton} quiet text=${repeat} label="Copy the command that repeats it" /></p>`}
        ${evidence.map((exchange, index) => html`<${Exchange} key=${index} exchange=${exchange} label=${`${id}, exchange ${index + 1}`} />`)}`
      }
    </div>
    <span class="check-side">
      <${Chip} tone=${tone}>${outcome}<//> ${level && html`<span class="muted">${level}</span>`}
    </span>
  </li>`;
}

/** What was sent and what came back. */
function Exchange({ exchange, label }) {
  const { sent, received, curl } = exchange;
  const came = received?.status === undefined ? (received?.message ?? "no answer") : `${received.status}`;
  return html`<details>
    <summary>Evidence: ${sent?.note ?? `${sent?.method ?? "POST"} ${sent?.url ?? ""}`} → ${came}</summary>
    <div class="evidence">
      <${Code} text=${messageText(sent)} label=${`Sent: ${label}`} />
      <${Code} text=${messageText(received)} label=${`Received: ${label}`} />
      ${curl && html`<${CopyButton} text=${curl} label="Copy as curl" />`}
    </div>
  </details>`;
}

function messageText({ method, url, status, headers = [], body = "", error, message } = {}) {
  if (error !== undefined) return `${error}: ${message}`;
  const first = status === undefined ? `${method} ${url}` : `HTTP ${status}`;
  return [first, ...headers.map(([name, value]) => `${name}: ${value}`), "", body].join("\n");
}

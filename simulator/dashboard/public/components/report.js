import { useState } from "preact/hooks";
import { html } from "../core/html.js";
import { Chip } from "./chips.js";
import { BodyView, Code, Segments } from "./code-view.js";
import { Icon } from "./icon.js";

const OUTCOMES = { passed: ["ok", "check"], failed: ["bad", "cross"], unverified: ["wait", "flag"] };

/** A report of `verify`: the count of each outcome, then the checks by group. */
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
  return html`<div class="toolbar">
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

function CheckRow({ check }) {
  const [tone, icon] = OUTCOMES[check.outcome] ?? ["plain", "flag"];
  const why = check.problem ?? check.reason;
  return html`<li class=${`check-row ${tone}`}>
    <${Icon} name=${icon} size=${16} />
    <div>
      <p><b class="foreign">${check.title}</b> <span class="muted">${check.id}</span></p>
      ${why && html`<p class="foreign">${why}</p>`}
      ${check.outcome === "failed" && check.hint && html`<p class="muted foreign">${check.hint}</p>`}
      ${check.curl && html`<${Code} text=${check.curl} label=${`Repeats ${check.id}`} />`}
    </div>
    <span class="check-side"
      ><${Chip} tone=${tone}>${check.outcome}<//
      >${check.level && html`<span class="muted">${check.level}</span>`}</span
    >
  </li>`;
}

import { useState } from "preact/hooks";
import { numberOf, shortOf } from "../core/format.js";
import { html } from "../core/html.js";
import { CheckRow, standingOf, STANDINGS } from "./check-row.js";
import { BodyView, Segments } from "./code-view.js";
import { Icon } from "./icon.js";

const VERDICTS = {
  passed: ["ok", "check", "The receiver passed"],
  failed: ["bad", "cross", "The receiver failed"],
  could_not_run: ["wait", "flag", "Nothing could be verified"],
  incomplete: ["wait", "flag", "The run did not come to its end"],
};

/** A report of `verify`, also one that is still being made: the verdict, then the checks, what failed first. */
export function Report({ report, children }) {
  const checks = Array.isArray(report.checks) ? report.checks : undefined;
  const [shown, setShown] = useState("");
  if (checks === undefined) return html`<${BodyView} text=${JSON.stringify(report)} label="Report" />`;

  const byStanding = Map.groupBy(checks, standingOf);
  const counted = (standing) => byStanding.get(standing)?.length ?? 0;
  const there = Object.keys(STANDINGS).filter((standing) => counted(standing) > 0);
  const options = [
    ["", `All ${checks.length}`],
    ...there.map((standing) => [standing, `${counted(standing)} ${STANDINGS[standing].word}`]),
  ];
  const isChosen = there.includes(shown);
  return html`${report.verdict !== null && html`<${Verdict} report=${report} />`}
    <div class="toolbar report-tools">
      <${Segments} label="Outcome" value=${isChosen ? shown : ""} options=${options} onChange=${setShown} />
      ${children}
    </div>
    ${there
      .filter((standing) => !isChosen || standing === shown)
      .map(
        (standing) =>
          html`<section class="panel report-group" key=${standing} aria-label=${STANDINGS[standing].title}>
            <header><h2>${STANDINGS[standing].title}</h2></header>
            <ul>
              ${byStanding.get(standing).map((check) => html`<${CheckRow} key=${check.id} check=${check} />`)}
            </ul>
          </section>`,
      )}`;
}

function Verdict({ report }) {
  const { verdict, url, seed, duration_ms: durationMs, summary, incomplete } = report;
  const [tone, icon, words] = VERDICTS[verdict] ?? ["plain", "flag", String(verdict ?? "A report")];
  return html`<div class=${`report-verdict ${tone}`}>
    <${Icon} name=${icon} size=${22} />
    <div>
      <b>${words}</b>
      <p class="foreign">${url}${typeof incomplete === "string" && `: ${incomplete}`}</p>
    </div>
    <p class="muted">
      ${Number.isFinite(durationMs) && `${numberOf(Math.round(durationMs / 100) / 10)} s`}
      ${seed !== undefined && html` · seed <code class="foreign">${shortOf(String(seed), 24)}</code>`}
      ${summary?.not_run > 0 && ` · ${summary.not_run} not run`}
    </p>
  </div>`;
}

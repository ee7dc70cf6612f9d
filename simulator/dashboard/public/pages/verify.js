import { useEffect } from "preact/hooks";
import { Copyable } from "../components/copy-button.js";
import { Empty, Loading, Problem } from "../components/empty.js";
import { PageHead } from "../components/page.js";
import { Report } from "../components/report.js";
import { ReportFiles } from "../components/report-files.js";
import { VerifyProgress, VerifyStart } from "../components/verify-run.js";
import { control } from "../core/api.js";
import { fullTimeOf } from "../core/format.js";
import { programName } from "../core/command.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { useLoaded } from "../core/load.js";
import { hrefTo } from "../core/route.js";

/** Runs the checks, and hands their report to this page. */
const command = () =>
  `${programName()} verify http://localhost:3000/webhooks --secret "$SIGNING_SECRET" --json | ` +
  `curl -H 'Content-Type: application/json' --data-binary @- ${location.origin}/control/reports/verify`;

/** A verdict on a receiver: made here, check by check, or the last one that was made elsewhere. */
export function VerifyPage() {
  const { verification, endpoints } = useLive();
  const isRunning = verification?.state === "running";
  const { value: kept, error, reload } = useLoaded("report", () => control.get("/reports/verify"));
  useEffect(() => void reload(), [verification?.id, isRunning]);
  const isOwn =
    verification !== undefined && (isRunning || (kept !== undefined && !isLater(kept, verification)));
  const report = isOwn ? verification : kept?.report;
  return html`<${PageHead}
      title="Verify"
      lead=${!isRunning && kept?.report ? `The last verdict on a receiver, of ${fullTimeOf(kept.received_at)}.` : "A verdict on any receiver, with evidence."}
    >
      ${!isOwn && html`<button type="button" class="button" onClick=${reload}>Look again</button>`}
      <${VerifyStart} />
    <//>
    ${error && html`<${Problem} error=${error} />`}
    ${kept === undefined && error === undefined && report === undefined && html`<${Loading} />`}
    ${isRunning && html`<${VerifyProgress} verification=${verification} />`}
    ${report === null && html`<${NoReport} hasEndpoints=${endpoints?.size > 0} />`}
    ${
      report &&
      html`<${Report} report=${report}>
        ${!isRunning && kept && html`<${ReportFiles} formats=${kept.formats} />`}
      <//>`
    }`;
}

/** Whether what is kept was made elsewhere, after the run here began: what the command sends is JSON alone. */
function isLater({ formats, received_at: receivedAt }, verification) {
  return formats.length === 1 && receivedAt >= verification.started_at;
}

function NoReport({ hasEndpoints }) {
  return html`<${Empty} icon="verify" title="No report yet">
    <p>
      ${hasEndpoints ? "Press Verify: some hundred deliveries, honest, forged, broken and repeated, say what your receiver does right." : html`<a href=${hrefTo("/endpoints?new")}>Register an endpoint</a>, then verify it here.`}
      From a shell, or of a receiver elsewhere, the report of the command comes here, too:
    </p>
    <p><${Copyable} text=${command()} label="Copy the command" /></p>
  <//>`;
}

import { Copyable } from "../components/copy-button.js";
import { Empty, Loading, Problem } from "../components/empty.js";
import { PageHead } from "../components/page.js";
import { Report } from "../components/report.js";
import { control } from "../core/api.js";
import { fullTimeOf } from "../core/format.js";
import { programName } from "../core/command.js";
import { html } from "../core/html.js";
import { useLoaded } from "../core/load.js";

/** Runs the checks, and hands their report to this page. */
const command = () =>
  `${programName()} verify http://localhost:3000/webhooks --secret "$SIGNING_SECRET" --json | ` +
  `curl -H 'Content-Type: application/json' --data-binary @- ${location.origin}/control/reports/verify`;

/** The last report of `verify`, if there is one. */
export function VerifyPage() {
  const { value: kept, error, reload } = useLoaded("report", () => control.get("/reports/verify"));
  const isKept = kept !== undefined && kept.report !== null;
  const isNone = kept !== undefined && kept.report === null;
  return html`<${PageHead}
      title="Verify"
      lead=${isKept ? `The last verdict on a receiver, of ${fullTimeOf(kept.received_at)}.` : "A verdict on any receiver, with evidence."}
    >
      <button type="button" class="button" onClick=${reload}>Look again</button>
    <//>
    ${error && html`<${Problem} error=${error} />`}
    ${kept === undefined && error === undefined && html`<${Loading} />`}
    ${
      isNone &&
      html`<${Empty} icon="verify" title="No report yet">
        <p>Run the checks against your receiver; the report of the last run then stands here.</p>
        <p>
          <${Copyable} text=${command()} label="Copy the command" />
        </p>
      <//>`
    }
    ${isKept && html`<${Report} report=${kept.report} />`}`;
}

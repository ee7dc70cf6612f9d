import { useState } from "preact/hooks";
import { VERIFY_TITLE, verifyEndpoint } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { endpointChoices, loadVerification, useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import { attempt } from "../core/toasts.ts";
import type { Verification } from "../core/types.ts";
import { placeOf, secondsOf } from "../core/words.ts";
import { Button, Icon } from "../components/button.tsx";
import { standingOf } from "../components/check-row.tsx";
import { useTick } from "../components/chips.tsx";
import { Select } from "../components/field.tsx";
import { Empty, Loading, PageHead, Problem } from "../components/page.tsx";
import { Report } from "../components/report.tsx";

/** A verdict on a receiver: made here, check by check. */
export function VerifyPage() {
  const { verification, endpoints } = useLive();
  const isRunning = verification?.state === "running";
  const { value, error } = useLoaded("verification", loadVerification, {
    again: `${verification?.id} ${isRunning}`,
  });
  const failed =
    verification === undefined || isRunning
      ? []
      : verification.checks.filter((check) => standingOf(check) === "failed");
  async function repeatFailed() {
    const ids = failed.map(({ id }) => id);
    await verifyEndpoint(verification?.endpoint_id ?? "", ids);
  }
  return (
    <>
      <PageHead title="Verify" lead="A verdict on any receiver, with evidence.">
        {failed.length > 0 && (
          <Button icon="resend" onClick={repeatFailed} words={`Run the ${failed.length} failed again`} />
        )}
        <VerifyStart />
      </PageHead>
      {error && <Problem error={error} />}
      {verification === undefined && value === undefined && error === undefined && <Loading />}
      {isRunning && <VerifyProgress verification={verification} />}
      {verification === undefined && value !== undefined && (
        <NoReport hasEndpoints={endpoints !== undefined && endpoints.size > 0} />
      )}
      {verification && <Report report={verification} children={!isRunning && <ReportFiles />} />}
    </>
  );
}

/** Chooses whom to verify; while a run is under way, ends it. */
function VerifyStart() {
  const { endpoints, verification } = useLive();
  const [chosen, setChosen] = useState<string>();
  const all = [...(endpoints?.values() ?? [])];
  const endpoint = all.find(({ id }) => id === (chosen ?? verification?.endpoint_id)) ?? all[0];
  const cancel = () => attempt(() => control.post("/verification/cancel"));
  if (verification?.state === "running") return <Button icon="cross" onClick={cancel} words="Cancel" />;
  if (endpoint === undefined) return null;
  return (
    <>
      {all.length > 1 && (
        <label class="inline-field flex muted">
          <span>Endpoint</span>{" "}
          <Select value={endpoint.id} options={endpointChoices()} onChange={setChosen} />
        </label>
      )}
      <Button
        icon="verify"
        kind="accent"
        title={VERIFY_TITLE}
        onClick={() => verifyEndpoint(endpoint.id)}
        words={`Verify ${all.length > 1 ? "" : placeOf(endpoint)}`}
      />
    </>
  );
}

const PATIENCE_MS = 5_000;

/** How far a run is; where nothing comes, since when. */
function VerifyProgress({ verification }: { verification: Verification }) {
  useTick();
  const { url, done, total, started_at: startedAt } = verification;
  const lastsMs = Date.now() - Date.parse(startedAt);
  const isSilent = done === 0 && lastsMs > PATIENCE_MS;
  return (
    <div class="report-verdict box flex wraps">
      <p>
        <b>Checking</b> <span class="foreign">{placeOf({ url })}</span>
      </p>
      <progress max={Math.max(total, 1)} value={done} aria-label="Checks done" />
      <p class="muted">
        {total === 0 ? "Starting…" : `${done} of ${total}`},{" "}
        {secondsOf(Math.max(0, Math.floor(lastsMs / 1000)))}
        {isSilent && ": no answer yet, and each delivery waits ten seconds for one"}
      </p>
    </div>
  );
}

function NoReport({ hasEndpoints }: { hasEndpoints: boolean }) {
  return (
    <Empty icon="verify" title="No report yet">
      <p>
        {hasEndpoints ? (
          "Press Verify to send your receiver hundreds of deliveries: honest, forged, broken and repeated."
        ) : (
          <>
            <a href={hrefTo("/endpoints?new")}>Register an endpoint</a>, then verify it here.
          </>
        )}
      </p>
    </Empty>
  );
}

const FORMATS = [
  ["pretty", "Text"],
  ["json", "JSON"],
  ["junit", "JUnit XML"],
  ["markdown", "Markdown"],
  ["github", "GitHub annotations"],
] as const;

/** The report as files, in each format. */
function ReportFiles() {
  return (
    <div class="flex wraps" role="group" aria-label="Save the report">
      <span class="inline muted">
        <Icon name="save" size={14} /> Save as
      </span>
      {FORMATS.map(([format, words]) => (
        <Button kind="small" href={`/control/verification/${format}`} download words={words} />
      ))}
    </div>
  );
}

import { useState } from "preact/hooks";
import { VERIFY_TITLE, verifyEndpoint } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { live, scheduleNowMs, useLive } from "../core/live.ts";
import { useGot } from "../core/load.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { attemptTone } from "../core/schedule.ts";
import { attempt, toast } from "../core/toasts.ts";
import type { Endpoint, EndpointWithSecret } from "../core/types.ts";
import { countOf, dayAndTimeOf, fullTimeOf, millisecondsOf, momentOf, outcomeWord } from "../core/words.ts";
import { Button, Icon } from "./button.tsx";
import { Chip, TypeName } from "./chips.tsx";
import { isMeant } from "./dialog.tsx";
import { RotateSecret } from "./endpoint-form.tsx";
import { CopyFact, Fact } from "./page.tsx";
import { showSecret } from "./secret-once.tsx";

/** One endpoint and its actions. */
export function EndpointCard({ endpoint, isRotated = false }: { endpoint: Endpoint; isRotated?: boolean }) {
  const { id, name, url, paused, flagged, faults } = endpoint;
  const { consecutive_failures: failures, event_types: types, previous_secret_until: until } = endpoint;
  const { organizations } = useLive();
  const [isRotating, setRotating] = useState(isRotated);
  const organization = organizations?.find((known) => known.id === endpoint.org_id);

  async function test() {
    const sent = await attempt(() => control.post(`/endpoints/${id}/test`));
    const link = { href: hrefTo(`/deliveries/${sent?.deliveries[0]?.id ?? ""}`), words: "Watch it" };
    if (sent !== undefined) toast("ok", "A synthetic call.completed is on its way.", link);
  }
  const pause = () => attempt(() => control.patch(`/endpoints/${id}`, { paused: !paused }));
  async function remove() {
    const text = `Deliveries that still wait for ${url} become dead. Its secret is lost.`;
    if (!(await isMeant({ title: "Delete this endpoint?", action: "Delete", text }))) return;
    await attempt(async () => {
      await control.delete(`/endpoints/${id}`);
      toast("ok", "The endpoint was deleted. Its past deliveries stay in the list.");
      navigate("/endpoints", { replace: true });
    });
  }
  function rotated(changed: EndpointWithSecret) {
    setRotating(false);
    showSecret(changed);
  }

  return (
    <article class="card box stack endpoint">
      <header class="flex wraps between">
        <h2 class="foreign">
          <a href={hrefTo(`/endpoints/${id}`)}>{name || url}</a>{" "}
          {paused && <Chip tone="wait">Paused: no new events</Chip>}
        </h2>
        <Chip tone={flagged ? "bad" : failures > 0 ? "wait" : "plain"}>
          {flagged && <Icon name="flag" size={13} />}
          {flagged && "Failing: "}
          {failures > 0 ? countOf(failures, "failure") : "No failures"} in a row
        </Chip>
      </header>
      <LatelyAnswered endpoint={endpoint} />
      <dl class="facts flex wraps hangs">
        {name !== "" && <Fact name="URL">{url}</Fact>}
        <Fact name="Events">
          {types.length === 0 ? "all types" : types.map((type) => <TypeName type={type} />)}
        </Fact>
        <Fact name="Organization">
          {endpoint.org_id === null ? "all organizations" : (organization?.name ?? endpoint.org_id)}
        </Fact>
        <Fact name="Secret" title="Shown in full once, when the endpoint was registered">
          <code>••••{endpoint.secret_last4 ?? ""}</code>{" "}
          {until !== null && Date.parse(until) > (scheduleNowMs() ?? 0) && (
            <span class="muted">
              and <code>••••{endpoint.previous_secret_last4}</code> until {dayAndTimeOf(until)}
            </span>
          )}{" "}
          <Button kind="quiet small" onClick={() => setRotating(true)} words="Rotate" />
        </Fact>
        <CopyFact name="Id" text={id} what="endpoint id" />
        <Fact name="Registered">{fullTimeOf(endpoint.created_at)}</Fact>
        {faults.length > 0 && (
          <Fact name="Faults">
            {faults.map((fault) => (
              <Chip tone="purpose">{fault}</Chip>
            ))}
          </Fact>
        )}
      </dl>
      <footer class="flex wraps">
        <Button icon="trigger" onClick={test} title="A synthetic call.completed" words="Send a test event" />
        <Button icon="verify" onClick={() => verifyEndpoint(id)} title={VERIFY_TITLE} words="Verify" />
        <Button href={hrefTo(`/?endpoint=${encodeURIComponent(id)}`)} words="Deliveries" />
        <span class="spacer" />
        <Button href={hrefTo(`/endpoints?edit=${encodeURIComponent(id)}`)} words="Edit" />
        <Button onClick={pause} words={paused ? "Resume" : "Pause"} />
        <Button kind="danger-words" onClick={remove} words="Delete" />
      </footer>
      {isRotating && <RotateSecret endpoint={endpoint} onDone={rotated} onClose={() => setRotating(false)} />}
    </article>
  );
}

const AGAIN_AFTER_MS = 400;
/** How an endpoint has answered lately. */
function LatelyAnswered({ endpoint }: { endpoint: Endpoint }) {
  const again = useLive().feed.heardOf(endpoint.id);
  const { value: answers } = useGot(`/endpoints/${endpoint.id}/answers`, { again, afterMs: AGAIN_AFTER_MS });
  if (answers === undefined) return <div class="answers" />;
  const { attempts, counted, acknowledged, p95_ms: p95Ms } = answers;
  const last = attempts.at(-1);
  if (last === undefined) return <p class="answers muted">Nothing sent yet.</p>;
  const share = counted === 0 ? "–" : `${percentOf(acknowledged, counted)} %`;
  const shareTitle = `${acknowledged} of the last ${counted} attempts, without those that failed on purpose`;
  const p95 = p95Ms === null ? "–" : millisecondsOf(p95Ms);
  return (
    <dl class="answers facts flex wraps hangs">
      <Fact name="Acknowledged" title={shareTitle}>
        {share}
      </Fact>
      <Fact name="p95" title="95 of 100 answers took no longer">
        {p95}
      </Fact>
      <Fact name="Last answer">
        <a class={`toned ${attemptTone(last)}`} href={hrefTo(`/deliveries/${last.delivery_id}`)}>
          {outcomeWord(last)}
        </a>
        <span class="muted"> {momentOf(last.started_at, live.clock?.now)}</span>
      </Fact>
    </dl>
  );
}

/** Rounds neither to 100 while one failed nor to 0 while one was acknowledged. */
function percentOf(part: number, whole: number): number | string {
  const percent = (part / whole) * 100;
  if (percent > 99 && part < whole) return Math.min(99.9, Math.floor(percent * 10) / 10);
  return part > 0 && percent < 1 ? "< 1" : Math.round(percent);
}

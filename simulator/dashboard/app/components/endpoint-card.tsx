import type { Endpoint } from "../core/types.ts";
import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { countOf, dayAndTimeOf, fullTimeOf } from "../core/format.ts";
import { scheduleNowMs, useLive } from "../core/live.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { attempt, toast } from "../core/toasts.ts";
import { tellSecret } from "../core/told-secret.ts";
import { AnswerPicture } from "./answer-picture.tsx";
import { Chip, TypeName } from "./chips.tsx";
import { Copyable } from "./copy-button.tsx";
import { Confirm } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { verifyEndpoint } from "./verify-run.tsx";

/** One endpoint with what can be done to it. */
export function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, flagged, consecutive_failures: failures, event_types: types, faults } = endpoint;
  const { organizations } = useLive();
  const [isDeleting, setDeleting] = useState(false);
  const [isRotating, setRotating] = useState(false);
  const organization = organizations?.find((known) => known.id === endpoint.org_id);

  async function test() {
    const sent = await attempt(() => control.post(`/endpoints/${encodeURIComponent(id)}/test`));
    if (sent === undefined) return;
    const [delivery] = sent.deliveries;
    toast("ok", "A synthetic call.completed is on its way.", {
      href: hrefTo(`/deliveries/${delivery?.id ?? ""}`),
      words: "Watch it",
    });
  }
  async function remove() {
    setDeleting(false);
    await attempt(async () => {
      await control.delete(`/endpoints/${encodeURIComponent(id)}`);
      toast("ok", "The endpoint was deleted. Its past deliveries stay in sight.");
      navigate("/endpoints", { replace: true });
    });
  }

  return (
    <article class={`card endpoint ${flagged ? "flagged" : ""}`}>
      <header>
        <h2 class="foreign">
          <a href={hrefTo(`/endpoints/${id}`)}>{url}</a>
        </h2>
        {flagged ? (
          <Chip tone="bad" title="Flagged at three failures in a row; never disabled">
            <Icon name="flag" size={13} />
            Failing: {countOf(failures, "failure")} in a row
          </Chip>
        ) : failures > 0 ? (
          <Chip tone="wait">{countOf(failures, "failure")} in a row</Chip>
        ) : (
          <Chip>No failures in a row</Chip>
        )}
      </header>
      <AnswerPicture endpoint={endpoint} />
      <dl class="facts">
        <div>
          <dt>Events</dt>
          <dd>{types.length === 0 ? "all types" : types.map((type) => <TypeName type={type} />)}</dd>
        </div>
        <div>
          <dt>Organization</dt>
          <dd>{endpoint.org_id === null ? "all organizations" : (organization?.name ?? endpoint.org_id)}</dd>
        </div>
        <div>
          <dt>Secret</dt>
          <dd title="Shown in full once, when the endpoint was registered">
            <code>••••{endpoint.secret_last4 ?? ""}</code>{" "}
            {isOverlapping(endpoint) && (
              <span class="muted">
                and <code>••••{endpoint.previous_secret_last4}</code> until{" "}
                {dayAndTimeOf(endpoint.previous_secret_until ?? "")}
              </span>
            )}{" "}
            <button type="button" class="button quiet small" onClick={() => setRotating(true)}>
              Rotate
            </button>
          </dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <Copyable text={id} label="Copy the endpoint id" />
          </dd>
        </div>
        <div>
          <dt>Registered</dt>
          <dd>{fullTimeOf(endpoint.created_at)}</dd>
        </div>
        {faults.length > 0 && (
          <div>
            <dt>Faults</dt>
            <dd>
              {faults.map((fault) => (
                <Chip tone="purpose">{fault}</Chip>
              ))}
            </dd>
          </div>
        )}
      </dl>
      <footer>
        <button type="button" class="button" onClick={test} title="Sends a synthetic call.completed">
          <Icon name="trigger" size={15} />
          Send a test event
        </button>
        <button
          type="button"
          class="button"
          onClick={() => verifyEndpoint(id)}
          title="Sends it some hundred deliveries: honest, forged, broken and repeated ones"
        >
          <Icon name="verify" size={15} />
          Verify
        </button>
        <a class="button" href={hrefTo(`/?endpoint=${encodeURIComponent(id)}`)}>
          Deliveries
        </a>
        <span class="spacer" />
        <a class="button" href={hrefTo(`/endpoints?edit=${encodeURIComponent(id)}`)}>
          Edit
        </a>
        <button type="button" class="button danger-words" onClick={() => setDeleting(true)}>
          Delete
        </button>
      </footer>
      {isRotating && (
        <RotateSecret
          endpoint={endpoint}
          onDone={(changed) => {
            setRotating(false);
            tellSecret(changed);
          }}
          onClose={() => setRotating(false)}
        />
      )}
      {isDeleting && (
        <Confirm
          title="Delete this endpoint?"
          action="Delete"
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>
            <code class="foreign">{url}</code>
          </p>
          <p>Deliveries that still wait for it are given up as dead. Its secret cannot be had again.</p>
        </Confirm>
      )}
    </article>
  );
}

/** Whether the secret before the last rotation still signs. */
function isOverlapping({ previous_secret_until: until }: Endpoint): boolean {
  return until !== null && Date.parse(until) > (scheduleNowMs() ?? 0);
}

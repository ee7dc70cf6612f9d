import { useState } from "preact/hooks";
import { useApiPages } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization, Voicemail } from "../core/types.ts";
import { fullTimeOf } from "../core/words.ts";
import { Button, type Choice, Copyable, Segments } from "./button.tsx";
import { Chip } from "./chips.tsx";
import { Fact } from "./page.tsx";
import { MoreButton, ObjectDetails, PagedList } from "./world-parts.tsx";

const REVIEWED: Choice[] = [
  ["", "All"],
  ["false", "Unread"],
  ["true", "Reviewed"],
];

/** The voicemails of an organization, newest first. */
export function VoicemailList({ organization }: { organization: Organization }) {
  const [reviewed, setReviewed] = useState("");
  const pages = useApiPages("/api/v1/voicemails", { reviewed }, organization.api_key);
  return (
    <>
      <div class="toolbar">
        <Segments label="Reviewed" value={reviewed} options={REVIEWED} onChange={setReviewed} />
      </div>
      <PagedList pages={pages} nothing="No voicemail is like that.">
        <div class="cards stack">
          {pages.items.map((voicemail) => (
            <VoicemailCard key={voicemail.id} voicemail={voicemail} organization={organization} />
          ))}
        </div>
        <MoreButton pages={pages} />
      </PagedList>
    </>
  );
}

function VoicemailCard({ voicemail, organization }: { voicemail: Voicemail; organization: Organization }) {
  const {
    customer_name: name,
    phone,
    message_text: message,
    reason,
    reviewed,
    callback_made: calledBack,
    notes,
  } = voicemail;
  return (
    <article class="card box stack voicemail">
      <header class="flex wraps between">
        <h2 class="foreign">{name}</h2>
        <span class="muted foreign">{phone}</span>
        <span class="spacer" />
        <Chip tone={reviewed ? "plain" : "wait"}>{reviewed ? "Reviewed" : "Unread"}</Chip>
        {calledBack && <Chip tone="plain">Called back</Chip>}
      </header>
      <blockquote class="foreign">{message}</blockquote>
      {notes && (
        <p class="foreign">
          <b>Notes:</b> {notes}
        </p>
      )}
      <p class="muted small">
        {reason.replaceAll("_", " ")} · {fullTimeOf(voicemail.created_at)} ·{" "}
        <a href={hrefTo(`/world/calls?org=${organization.id}&call=${encodeURIComponent(voicemail.call_id)}`)}>
          its call
        </a>
      </p>
      <ObjectDetails object={voicemail} />
    </article>
  );
}

/** The agents of an organization. */
export function AgentList({ organization }: { organization: Organization }) {
  const pages = useApiPages("/api/v1/agents", {}, organization.api_key);
  return (
    <PagedList pages={pages} nothing="No agent works here.">
      <div class="cards two stack">
        {pages.items.map((agent) => (
          <article class="card box stack" key={agent.id}>
            <header class="flex wraps between">
              <h2 class="foreign">{agent.name}</h2>
              <Chip>{agent.status}</Chip>
            </header>
            <dl class="facts flex wraps">
              <Fact name="Phone">{agent.phone_number}</Fact>
              <Fact name="Voice">{agent.voice_id}</Fact>
              <Fact name="Persona">{agent.persona_id}</Fact>
              <Fact name="Greeting">{agent.greeting_style}</Fact>
              <Fact name="Since">{fullTimeOf(agent.created_at)}</Fact>
            </dl>
            <ObjectDetails object={agent} />
          </article>
        ))}
      </div>
    </PagedList>
  );
}

/** Every organization with its API key: these keys are for this machine only and no secret. */
export function OrganizationList({ organizations }: { organizations: Organization[] }) {
  return (
    <div class="cards two stack">
      {organizations.map((organization) => (
        <article class="card box stack" key={organization.id}>
          <header class="flex wraps between">
            <h2 class="foreign">{organization.name}</h2>
            <Chip>{organization.industry.replaceAll("_", " ")}</Chip>
          </header>
          <dl class="facts flex wraps">
            <Fact name="API key" wide>
              <Copyable text={organization.api_key} label="Copy the API key" />
            </Fact>
            <Fact name="Id" wide>
              <Copyable text={organization.id} label="Copy the organization id" />
            </Fact>
            <Fact name="Scopes">{organization.api_scopes.join(", ")}</Fact>
            <Fact name="Subscription">
              {organization.subscription_tier}, {organization.subscription_status}
            </Fact>
            <Fact name="Since">{fullTimeOf(organization.created_at)}</Fact>
          </dl>
          <footer class="flex wraps">
            <Button href={hrefTo(`/console?org=${organization.id}`)} words="Try the API with this key" />
          </footer>
        </article>
      ))}
    </div>
  );
}

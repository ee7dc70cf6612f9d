import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ApiPages, useApiPages } from "../core/load.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization, Voicemail } from "../core/types.ts";
import { countOf, fullTimeOf } from "../core/words.ts";
import { Button, type Choice, Segments } from "./button.tsx";
import { Chip } from "./chips.tsx";
import { BodyView } from "./code-view.tsx";
import { CopyFact, Empty, Fact, Loading, Problem } from "./page.tsx";

const REVIEWED: Choice[] = [
  ["", "All"],
  ["false", "Unread"],
  ["true", "Reviewed"],
];

/** The voicemails of an organization, newest first. */
export function VoicemailList({ organization: { id, api_key: apiKey } }: { organization: Organization }) {
  const [reviewed, setReviewed] = useState("");
  const pages = useApiPages("/api/v1/voicemails", { reviewed }, apiKey);
  return (
    <>
      <Segments label="Reviewed" value={reviewed} options={REVIEWED} onChange={setReviewed} />
      <PagedList pages={pages} nothing="No voicemail is like that.">
        <div class="cards stack">
          {pages.items.map((voicemail) => (
            <VoicemailCard key={voicemail.id} voicemail={voicemail} orgId={id} />
          ))}
        </div>
        <MoreButton pages={pages} />
      </PagedList>
    </>
  );
}

function VoicemailCard({ voicemail, orgId }: { voicemail: Voicemail; orgId: string }) {
  const { phone, reason, reviewed, notes, call_id: callId } = voicemail;
  return (
    <article class="card box stack voicemail">
      <header class="flex wraps between">
        <h2 class="foreign">{voicemail.customer_name}</h2>
        <span class="muted foreign">{phone}</span>
        <span class="spacer" />
        <Chip tone={reviewed ? "plain" : "wait"}>{reviewed ? "Reviewed" : "Unread"}</Chip>
        {voicemail.callback_made && <Chip tone="plain">Called back</Chip>}
      </header>
      <blockquote class="foreign">{voicemail.message_text}</blockquote>
      {notes && (
        <p class="foreign">
          <b>Notes:</b> {notes}
        </p>
      )}
      <p class="muted small">
        {reason.replaceAll("_", " ")} · {fullTimeOf(voicemail.created_at)} ·{" "}
        <a href={hrefTo(`/world/calls?org=${orgId}&call=${encodeURIComponent(callId)}`)}>its call</a>
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
      <div class="pair stack">
        {pages.items.map((agent) => (
          <Card key={agent.id} name={agent.name} chip={agent.status} end={<ObjectDetails object={agent} />}>
            <Fact name="Phone">{agent.phone_number}</Fact>
            <Fact name="Voice">{agent.voice_id}</Fact>
            <Fact name="Persona">{agent.persona_id}</Fact>
            <Fact name="Greeting">{agent.greeting_style}</Fact>
            <Fact name="Since">{fullTimeOf(agent.created_at)}</Fact>
          </Card>
        ))}
      </div>
    </PagedList>
  );
}

/** Every organization with its API key: these keys are for this machine only and no secret. */
export function OrganizationList({ organizations }: { organizations: Organization[] }) {
  const tryIt = ({ id }: Organization) => (
    <footer class="flex wraps">
      <Button href={hrefTo(`/console?org=${id}`)} words="Try the API with this key" />
    </footer>
  );
  return (
    <div class="pair stack">
      {organizations.map((one) => (
        <Card key={one.id} name={one.name} chip={one.industry.replaceAll("_", " ")} end={tryIt(one)}>
          <CopyFact name="API key" wide text={one.api_key} what="API key" />
          <CopyFact name="Id" wide text={one.id} what="organization id" />
          <Fact name="Scopes">{one.api_scopes.join(", ")}</Fact>
          <Fact name="Subscription">
            {one.subscription_tier}, {one.subscription_status}
          </Fact>
          <Fact name="Since">{fullTimeOf(one.created_at)}</Fact>
        </Card>
      ))}
    </div>
  );
}

type CardProps = { name: string; chip: string; end: ComponentChildren; children: ComponentChildren };

function Card({ name, chip, end, children }: CardProps) {
  return (
    <article class="card box stack">
      <header class="flex wraps between">
        <h2 class="foreign">{name}</h2>
        <Chip>{chip}</Chip>
      </header>
      <dl class="facts flex wraps hangs">{children}</dl>
      {end}
    </article>
  );
}

type PagedListProps = { pages: ApiPages; nothing: string; children: ComponentChildren };

/** A paged list in each of its states. */
export function PagedList({ pages, nothing, children }: PagedListProps) {
  if (pages.error) return <Problem error={pages.error} />;
  if (!pages.isLoaded) return <Loading />;
  if (pages.items.length > 0) return <>{children}</>;
  return (
    <Empty icon="world" title={nothing}>
      <p>
        Choose another filter, or <a href={hrefTo("/trigger")}>trigger an event</a>: the world changes with
        it.
      </p>
    </Empty>
  );
}

export function MoreButton({ pages }: { pages: ApiPages }) {
  if (!pages.hasMore)
    return <p class="feed-end muted">{countOf(pages.items.length, "item")}: that is all.</p>;
  return (
    <p class="feed-end">
      <Button onClick={pages.loadMore} words="Load the next 50" />
    </p>
  );
}

/** The resource as the REST API answers it. */
export function ObjectDetails({ object }: { object: { object: string } }) {
  return (
    <details>
      <summary>As the REST API answers it</summary>
      <BodyView text={JSON.stringify(object)} label={`The ${object.object}`} />
    </details>
  );
}

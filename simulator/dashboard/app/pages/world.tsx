import { useState } from "preact/hooks";
import { organizationChoices, useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import type { Call, Organization, Voicemail } from "../core/types.ts";
import { fullTimeOf, secondsOf } from "../core/words.ts";
import { Conversation, Recording } from "../components/conversation.tsx";
import { Select } from "../components/field.tsx";
import { Loading, PageHead } from "../components/page.tsx";
import { type Kind, WorldList } from "../components/world-list.tsx";

const CALLS: Kind<"/api/v1/calls"> = {
  section: "calls",
  path: "/api/v1/calls",
  filter: "outcome",
  choices: ["completed", "transferred", "voicemail"],
  titleOf: ({ phone }) => `Call from ${phone}`,
  rowOf: ({ phone, transcript, outcome, duration_sec: seconds, detected_language: language }) => [
    phone,
    transcript,
    `${outcome} · ${secondsOf(seconds)} · ${language}`,
  ],
  Details: CallDetails,
};

const VOICEMAILS: Kind<"/api/v1/voicemails"> = {
  section: "voicemails",
  path: "/api/v1/voicemails",
  filter: "reviewed",
  choices: ["false", "true"],
  titleOf: ({ customer_name: name }) => `Voicemail of ${name}`,
  rowOf: ({ customer_name: name, message_text: text, reviewed, phone }) => [
    name,
    text,
    `${phone} · ${reviewed ? "reviewed" : "unread"}`,
  ],
  Details: VoicemailDetails,
};

const AGENTS: Kind<"/api/v1/agents"> = {
  section: "agents",
  path: "/api/v1/agents",
  titleOf: ({ name }) => name,
  rowOf: ({ name, phone_number: phone, persona_id: persona, status }) => [
    name,
    `Persona ${persona}, ${phone}`,
    status,
  ],
};

function CallDetails({ item: call }: { item: Call }) {
  const { outcome, transferred, transfer_to: to, transfer_succeeded: succeeded } = call;
  const transfer = transferred ? ` to ${JSON.stringify(to)}, succeeded: ${JSON.stringify(succeeded)}` : "";
  return (
    <>
      <p class="muted foreign">
        {outcome}
        {transfer} · {secondsOf(call.duration_sec)} · {fullTimeOf(call.created_at)}
      </p>
      <Recording url={call.recording_url} />
      <Conversation transcript={call.transcript} />
    </>
  );
}

function VoicemailDetails({ item, organization }: { item: Voicemail; organization: Organization }) {
  const call = new URLSearchParams({ org: organization.id, open: item.call_id });
  return (
    <>
      <blockquote class="foreign">{item.message_text}</blockquote>
      <p>
        <a href={hrefTo(`/world/calls?${call.toString()}`)}>Its call</a>
      </p>
    </>
  );
}

const SECTIONS: [name: string, words: string][] = [
  ["calls", "Calls"],
  ["voicemails", "Voicemails"],
  ["agents", "Agents"],
];

type WorldPageProps = { section?: string | undefined; query: URLSearchParams };

/** What the REST API has of each organization, to read. */
export function WorldPage({ section = "calls", query }: WorldPageProps) {
  const { organizations } = useLive();
  const [orgId, setOrgId] = useState(query.get("org"));
  const organization = organizations?.find((known) => known.id === orgId) ?? organizations?.[0];
  if (organization === undefined) return <Loading />;
  const own = { key: `${section} ${organization.id}`, organization, openedId: query.get("open") };
  return (
    <>
      <PageHead
        title="World"
        lead={`The made-up businesses behind the REST API. The API key of this one is ${organization.api_key}.`}
      >
        <label class="inline-field flex muted">
          <span>Organization</span>{" "}
          <Select value={organization.id} options={organizationChoices()} onChange={setOrgId} />
        </label>
      </PageHead>
      <nav class="tabs" aria-label="Kinds of things">
        {SECTIONS.map(([name, words]) => (
          <a
            key={name}
            href={hrefTo(`/world/${name}?org=${encodeURIComponent(organization.id)}`)}
            aria-current={name === section ? "page" : undefined}
          >
            {words}
          </a>
        ))}
      </nav>
      {section === "calls" && <WorldList kind={CALLS} {...own} />}
      {section === "voicemails" && <WorldList kind={VOICEMAILS} {...own} />}
      {section === "agents" && <WorldList kind={AGENTS} {...own} />}
    </>
  );
}

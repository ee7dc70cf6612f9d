import { useState } from "preact/hooks";
import { fullTimeOf } from "../core/format.ts";
import { useApiPages } from "../core/pages.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization, Voicemail } from "../core/types.ts";
import { Chip } from "./chips.tsx";
import { type Choice, Segments } from "./code-view.tsx";
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

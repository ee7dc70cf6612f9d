import { useState } from "preact/hooks";
import { fullTimeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useApiPages } from "../core/pages.js";
import { hrefTo } from "../core/route.js";
import { Chip } from "./chips.js";
import { Segments } from "./code-view.js";
import { MoreButton, ObjectDetails, PagedList } from "./world-parts.js";

const REVIEWED = [
  ["", "All"],
  ["false", "Unread"],
  ["true", "Reviewed"],
];

/** The voicemails of an organization, newest first. */
export function VoicemailList({ organization }) {
  const [reviewed, setReviewed] = useState("");
  const pages = useApiPages("/api/v1/voicemails", { reviewed }, organization.api_key);
  return html`<div class="toolbar">
      <${Segments} label="Reviewed" value=${reviewed} options=${REVIEWED} onChange=${setReviewed} />
    </div>
    <${PagedList} pages=${pages} nothing="No voicemail is like that.">
      <div class="cards">
        ${pages.items.map((voicemail) => html`<${Voicemail} key=${voicemail.id} voicemail=${voicemail} organization=${organization} />`)}
      </div>
      <${MoreButton} pages=${pages} />
    <//>`;
}

function Voicemail({ voicemail, organization }) {
  const {
    customer_name: name,
    phone,
    message_text: message,
    reason,
    reviewed,
    callback_made: calledBack,
    notes,
  } = voicemail;
  return html`<article class="card voicemail">
    <header>
      <h2 class="foreign">${name}</h2>
      <span class="muted foreign">${phone}</span>
      <span class="spacer"></span>
      <${Chip} tone=${reviewed ? "plain" : "wait"}>${reviewed ? "Reviewed" : "Unread"}<//>
      ${calledBack && html`<${Chip} tone="plain">Called back<//>`}
    </header>
    <blockquote class="foreign">${message}</blockquote>
    ${notes && html`<p class="foreign"><b>Notes:</b> ${notes}</p>`}
    <p class="muted small">
      ${String(reason).replaceAll("_", " ")} · ${fullTimeOf(voicemail.created_at)} ·
      <a href=${hrefTo(`/world/calls?org=${organization.id}&call=${encodeURIComponent(voicemail.call_id)}`)}
        >its call</a
      >
    </p>
    <${ObjectDetails} object=${voicemail} />
  </article>`;
}

import { useEffect, useState } from "preact/hooks";
import { fullTimeOf, secondsOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useApiPages } from "../core/pages.js";
import { Chip, TypeMark } from "./chips.js";
import { Segments } from "./code-view.js";
import { Conversation, Recording } from "./conversation.js";
import { Dialog } from "./dialog.js";
import { MoreButton, ObjectDetails, PagedList } from "./world-parts.js";

const OUTCOMES = [
  ["", "All"],
  ["completed", "Completed"],
  ["transferred", "Transferred"],
  ["voicemail", "Voicemail"],
];
const MOST_SEARCHED = 2_000;
/** The event that a call with this outcome makes, whose mark it has. */
const EVENTS = {
  completed: "call.completed",
  transferred: "call.transferred",
  voicemail: "voicemail.created",
};

/** The calls of an organization, newest first. */
export function CallList({ organization, query }) {
  const [outcome, setOutcome] = useState("");
  const [opened, setOpened] = useState();
  const pages = useApiPages("/api/v1/calls", { outcome }, organization.api_key);
  const askedId = query.get("call");
  const asked = pages.items.find((call) => call.id === askedId);
  // The API has no way to ask for one call, so a linked one is looked for page by page.
  useEffect(() => {
    const isMissing = askedId !== null && asked === undefined;
    if (isMissing && pages.hasMore && pages.items.length < MOST_SEARCHED) void pages.loadMore();
  }, [askedId, asked, pages.items.length]);
  const call = opened ?? (opened === null ? undefined : asked);
  return html`<div class="toolbar">
      <${Segments} label="Outcome" value=${outcome} options=${OUTCOMES} onChange=${setOutcome} />
    </div>
    <${PagedList} pages=${pages} nothing="No call ended so.">
      <ul class="rows" aria-label="Calls, newest first">
        ${pages.items.map((item) => html`<li key=${item.id}><${CallRow} call=${item} onOpen=${() => setOpened(item)} /></li>`)}
      </ul>
      <${MoreButton} pages=${pages} />
    <//>
    ${call && html`<${CallDialog} call=${call} onClose=${() => setOpened(null)} />`}`;
}

function CallRow({ call, onOpen }) {
  const { phone, outcome, transcript, duration_sec: durationSeconds, detected_language: language } = call;
  return html`<button type="button" class="row call-row" onClick=${onOpen}>
    <b class="foreign">${phone}</b>
    <span class="muted one-line foreign">${String(transcript ?? "").replaceAll("\n", " · ")}</span>
    <span class="row-side"
      ><span class="type"><${TypeMark} type=${EVENTS[outcome]} /><span class="foreign">${outcome}</span></span
      ><span class="muted nowrap">${secondsOf(durationSeconds)} · ${language}</span></span
    >
    <time class="muted nowrap row-time" datetime=${call.created_at}>${fullTimeOf(call.created_at)}</time>
  </button>`;
}

function CallDialog({ call, onClose }) {
  const transfer = call.transferred ? ` to ${text(call.transfer_to)}, ${text(call.transfer_succeeded)}` : "";
  return html`<${Dialog} title=${`Call from ${call.phone}`} onClose=${onClose} wide>
    <div class="dialog-body">
      <p class="call-facts">
        <${Chip}>${call.outcome}${transfer}<//>
        <span class="muted"
          >${secondsOf(call.duration_sec)} · ${call.detected_language} · ${fullTimeOf(call.created_at)}</span
        >
      </p>
      <${Recording} url=${call.recording_url} />
      <${Conversation} transcript=${call.transcript} />
      <${ObjectDetails} object=${call} />
    </div>
  <//>`;
}

function text(value) {
  if (value === true) return "succeeded";
  if (value === false) return "failed";
  return typeof value === "string" ? value : JSON.stringify(value);
}

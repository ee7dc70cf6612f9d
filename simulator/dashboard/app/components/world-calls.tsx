import { useEffect, useState } from "preact/hooks";
import { useApiPages } from "../core/load.ts";
import type { Call, Organization } from "../core/types.ts";
import { fullTimeOf, secondsOf } from "../core/words.ts";
import { type Choice, Segments } from "./button.tsx";
import { Chip, TypeMark } from "./chips.tsx";
import { Conversation, Recording } from "./conversation.tsx";
import { Dialog } from "./dialog.tsx";
import { MoreButton, ObjectDetails, PagedList } from "./world-cards.tsx";

const OUTCOMES: Choice[] = [
  ["", "All"],
  ["completed", "Completed"],
  ["transferred", "Transferred"],
  ["voicemail", "Voicemail"],
];
const MOST_SEARCHED = 2_000;
/** The event that a call with this outcome makes, whose mark it has. */
const EVENTS: Record<string, string> = {
  completed: "call.completed",
  transferred: "call.transferred",
  voicemail: "voicemail.created",
};

/** The calls of an organization, newest first. */
export function CallList({ organization, query }: { organization: Organization; query: URLSearchParams }) {
  const [outcome, setOutcome] = useState("");
  const [opened, setOpened] = useState<Call | null>();
  const pages = useApiPages("/api/v1/calls", { outcome }, organization.api_key);
  const askedId = query.get("call");
  const asked = pages.items.find((call) => call.id === askedId);
  // The API has no way to ask for one call, so a linked one is looked for page by page.
  useEffect(() => {
    const isMissing = askedId !== null && asked === undefined;
    if (isMissing && pages.hasMore && pages.items.length < MOST_SEARCHED) void pages.loadMore();
  }, [askedId, asked, pages.items.length]);
  const call = opened ?? (opened === null ? undefined : asked);
  return (
    <>
      <Segments label="Outcome" value={outcome} options={OUTCOMES} onChange={setOutcome} />
      <PagedList pages={pages} nothing="No call ended so.">
        <ul class="rows box" aria-label="Calls, newest first">
          {pages.items.map((item) => (
            <li key={item.id}>
              <CallRow call={item} onOpen={() => setOpened(item)} />
            </li>
          ))}
        </ul>
        <MoreButton pages={pages} />
      </PagedList>
      {call && <CallDialog call={call} onClose={() => setOpened(null)} />}
    </>
  );
}

function CallRow({ call, onOpen }: { call: Call; onOpen: () => void }) {
  const { phone, outcome, transcript, duration_sec: durationSeconds, detected_language: language } = call;
  return (
    <button type="button" class="row call-row edge" onClick={onOpen}>
      <b class="foreign">{phone}</b>{" "}
      <span class="muted one-line foreign">{transcript.replaceAll("\n", " · ")}</span>{" "}
      <span class="row-side flex">
        <span class="type inline">
          <TypeMark type={EVENTS[outcome] ?? outcome} />
          <span class="foreign">{outcome}</span>
        </span>
        <span class="muted nowrap">
          {secondsOf(durationSeconds)} · {language}
        </span>
      </span>{" "}
      <time class="muted nowrap" datetime={call.created_at}>
        {fullTimeOf(call.created_at)}
      </time>
    </button>
  );
}

function CallDialog({ call, onClose }: { call: Call; onClose: () => void }) {
  const transfer = call.transferred ? ` to ${text(call.transfer_to)}, ${text(call.transfer_succeeded)}` : "";
  return (
    <Dialog title={`Call from ${call.phone}`} onClose={onClose} wide>
      <p>
        <Chip>
          {call.outcome}
          {transfer}
        </Chip>{" "}
        <span class="muted">
          {secondsOf(call.duration_sec)} · {call.detected_language} · {fullTimeOf(call.created_at)}
        </span>
      </p>
      <Recording url={call.recording_url} />
      <Conversation transcript={call.transcript} />
      <ObjectDetails object={call} />
    </Dialog>
  );
}

function text(value: unknown): string {
  if (value === true) return "succeeded";
  if (value === false) return "failed";
  return typeof value === "string" ? value : JSON.stringify(value);
}

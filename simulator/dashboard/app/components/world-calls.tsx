import { useEffect, useState } from "preact/hooks";
import { useApiPages } from "../core/load.ts";
import type { Call, Organization } from "../core/types.ts";
import { fullTimeOf, secondsOf } from "../core/words.ts";
import { type Choice, Icon, Segments } from "./button.tsx";
import { Chip, TypeMark } from "./chips.tsx";
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
    <button class="row call-row edge" onClick={onOpen}>
      <b class="foreign">{phone}</b>{" "}
      <span class="muted one-line foreign">{transcript.replaceAll("\n", " · ")}</span>{" "}
      <span class="row-side flex">
        <span class="type inline nowrap">
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

type Line = { speaker: string; words: string };

const SPEAKER = /^([^:\n]{1,40}):\s(.*)$/;

/** A transcript as a conversation: the agent on one side, everybody else on the other. */
export function Conversation({ transcript }: { transcript: unknown }) {
  const lines = linesOf(typeof transcript === "string" ? transcript : "");
  if (lines.length === 0) return <p class="muted">Nothing was said.</p>;
  return (
    <ol class="conversation" aria-label="Transcript">
      {lines.map(({ speaker, words }, index) => (
        <li key={index} class={/^agent$/i.test(speaker) ? "agent" : speaker === "" ? "unlabelled" : "caller"}>
          {speaker !== "" && <span class="speaker foreign">{speaker}</span>} <p class="foreign">{words}</p>
        </li>
      ))}
    </ol>
  );
}

/** Lines without a speaker belong to the line before. */
function linesOf(transcript: string): Line[] {
  const lines: Line[] = [];
  for (const line of transcript.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const [, speaker, words = ""] = SPEAKER.exec(line) ?? [];
    const last = lines.at(-1);
    if (speaker !== undefined) lines.push({ speaker, words });
    else if (last === undefined) lines.push({ speaker: "", words: line });
    else last.words += `\n${line}`;
  }
  return lines;
}

/** A recording: played where this simulator serves it, linked where it is a web address, and mere text otherwise. */
export function Recording({ url }: { url: unknown }) {
  const path = ownRecording(url);
  if (path !== undefined)
    return <audio controls preload="none" src={path} aria-label="Recording of the call" />;
  const href = safeUrl(url);
  if (href !== undefined)
    return (
      <p>
        <a href={href} target="_blank" rel="noreferrer noopener" class="foreign">
          <Icon name="out" size={15} /> {href}
        </a>
      </p>
    );
  return (
    <p class="muted">
      No recording that can be played: <code class="foreign">{String(url)}</code>
    </p>
  );
}

/** `text` as a link that may be followed, or undefined: anything but http and https could run as a script. */
export function safeUrl(text: unknown): string | undefined {
  const url = typeof text === "string" ? URL.parse(text) : null;
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.href : undefined;
}

/**
 * The path of a recording that this simulator serves itself, under whatever name it is reached; undefined for all
 * others, which are linked and never loaded.
 */
export function ownRecording(text: unknown): string | undefined {
  const href = safeUrl(text);
  if (href === undefined) return undefined;
  const url = new URL(href);
  const isHere = [location.hostname, "localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  return isHere && url.port === location.port && /^\/recordings\/[\w-]+\.mp3$/.test(url.pathname)
    ? url.pathname
    : undefined;
}

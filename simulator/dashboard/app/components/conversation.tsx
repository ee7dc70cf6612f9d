import { Icon } from "./button.tsx";

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

import { html } from "../core/html.js";
import { ownRecording, safeUrl } from "../core/safe-url.js";
import { Icon } from "./icon.js";

const SPEAKER = /^([^:\n]{1,40}):\s(.*)$/;

/** A transcript as a conversation: the agent on one side, everybody else on the other. */
export function Conversation({ transcript }) {
  const lines = linesOf(String(transcript ?? ""));
  if (lines.length === 0) return html`<p class="muted none">Nothing was said.</p>`;
  return html`<ol class="conversation" aria-label="Transcript">
    ${lines.map(
      ({ speaker, words }, index) =>
        html`<li
          key=${index}
          class=${/^agent$/i.test(speaker) ? "agent" : speaker === "" ? "unlabelled" : "caller"}
        >
          ${speaker !== "" && html`<span class="speaker foreign">${speaker}</span>`}
          <p class="foreign">${words}</p>
        </li>`,
    )}
  </ol>`;
}

/** Lines without a speaker belong to the line before. */
function linesOf(transcript) {
  const lines = [];
  for (const line of transcript.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const [, speaker, words] = SPEAKER.exec(line) ?? [];
    if (speaker !== undefined) lines.push({ speaker, words });
    else if (lines.length === 0) lines.push({ speaker: "", words: line });
    else lines.at(-1).words += `\n${line}`;
  }
  return lines;
}

/** A recording: played where this simulator serves it, linked where it is a web address, and mere text otherwise. */
export function Recording({ url }) {
  const path = ownRecording(url);
  if (path !== undefined)
    return html`<audio controls preload="none" src=${path} aria-label="Recording of the call"></audio>`;
  const href = safeUrl(url);
  if (href !== undefined)
    return html`<p>
      <a href=${href} target="_blank" rel="noreferrer noopener" class="foreign"
        ><${Icon} name="out" size=${15} /> ${href}</a
      >
    </p>`;
  return html`<p class="muted">
    No recording that can be played: <code class="foreign">${String(url)}</code>
  </p>`;
}

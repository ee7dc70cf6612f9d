import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { messageOf } from "../core/toasts.ts";
import { withControlsShown } from "../core/words.ts";
import { Button, CopyButton } from "./button.tsx";

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Beyond this, colours cost more than they help. */
const MOST_COLOURED = 60_000;

/** A body: formatted if it is JSON, otherwise raw; copied raw. */
export function BodyView({ text, label, note }: { text: string; label: string; note?: string | undefined }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  const [wantsRaw, setRaw] = useState(false);
  const isRaw = wantsRaw || pretty === undefined;
  return (
    <div>
      <div class="body-bar flex">
        <h3>{label}</h3>
        <span class="muted">
          {note ?? `${new TextEncoder().encode(text).length.toLocaleString("en")} bytes`}
        </span>
        <span class="spacer" />
        {pretty !== undefined && (
          <Button kind="small" onClick={() => setRaw(!isRaw)} words={isRaw ? "Pretty" : "Raw"} />
        )}
        <CopyButton quiet text={text} label={`Copy ${label}`} />
      </div>
      {text === "" ? (
        <p class="muted">Empty.</p>
      ) : (
        <Code text={isRaw ? text : (pretty ?? text)} json={!isRaw} label={label} />
      )}
    </div>
  );
}

type CodeProps = { text: string; json?: boolean; label: string; copies?: boolean };

/**
 * Plain text, coloured if it is formatted JSON; scrolls, and can be reached by keyboard. With `copies`, a button in its
 * corner copies it.
 */
export function Code({ text, json = false, label, copies = false }: CodeProps) {
  const parts = useMemo(() => {
    const shown = withControlsShown(text);
    return json && shown.length < MOST_COLOURED ? coloured(shown) : shown;
  }, [text, json]);
  const code = (
    <pre class="code well foreign" tabindex={0} role="region" aria-label={label}>
      {parts}
    </pre>
  );
  if (!copies) return code;
  return (
    <div class="copied-code">
      {code}
      <CopyButton quiet text={text} label={`Copy: ${label}`} />
    </div>
  );
}

/** The value of a JSON text, or its error. */
export function parsed(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `This is not JSON yet: ${messageOf(error)}` };
  }
}

/** JSON as one reads it; undefined where it is none. */
export function prettyJson(text: string): string | undefined {
  const read = parsed(text);
  return read.ok ? JSON.stringify(read.value, null, 2) : undefined;
}

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    const shown = string ?? whole;
    const tone = string === undefined ? "wait" : colon === undefined ? "ok" : "";
    parts.push(text.slice(end, match.index), <span class={tone}>{shown}</span>);
    end = match.index + shown.length;
  }
  parts.push(text.slice(end));
  return parts;
}

import type { Evidence } from "../evidence.ts";

const VALUE_SHOWN_CHARACTERS = 200;
const UNTOLD_HEADERS = new Set(["host", "user-agent", "connection", "content-length"]);

/** The evidence in lines for a reader: what was sent, and what came back. */
export function evidenceLines({ sent, received, durationMs }: Evidence): string[] {
  const headers = sent.headers
    .filter(([name]) => !UNTOLD_HEADERS.has(name.toLowerCase()))
    .slice(0, 8)
    .map(([name, value]) => `      ${name}: ${cut(value)}`);
  return [
    `sent:     POST ${sent.url}${sent.note === undefined ? "" : ` — ${sent.note}`}`,
    ...headers,
    `      ${cut(sent.body)}`,
    "status" in received
      ? `received: ${received.status} after ${durationMs} ms${received.body === "" ? "" : `: ${cut(received.body)}`}`
      : `received: nothing after ${durationMs} ms: ${received.message}`,
  ];
}

/** One line of `text`, control characters made visible: what a receiver answers must not steer a terminal. */
function cut(text: string): string {
  const line = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("\u009b", "?");
  return line.length > VALUE_SHOWN_CHARACTERS ? `${line.slice(0, VALUE_SHOWN_CHARACTERS)}…` : line;
}

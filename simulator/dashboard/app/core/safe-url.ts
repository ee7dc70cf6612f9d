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
  const isHere =
    url.port === location.port && (url.hostname === location.hostname || isLoopback(url.hostname));
  return isHere && /^\/recordings\/[\w-]+\.mp3$/.test(url.pathname) ? url.pathname : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

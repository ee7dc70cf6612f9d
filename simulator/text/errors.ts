/** One line about an unexpected error: its message, and our file and line where it was thrown. */
export function describeBug(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /[^/(\s]+:\d+(?=:\d+\)?$)/m.exec(error.stack ?? "")?.[0];
  return place === undefined ? error.message : `${error.message} (${place})`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a Node.js error, such as `ENOENT`; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

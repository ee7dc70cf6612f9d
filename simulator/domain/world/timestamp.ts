/** `2026-01-31T18:05:09Z` for Unix seconds: the form of every time in the resources (SPEC §2). */
export function timestamp(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

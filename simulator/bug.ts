/** What is to be told of an error that nobody foresaw: its message and the place of ours where it arose, in one line. */
export function describeBug(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /[^/(\s]+:\d+(?=:\d+\)?$)/m.exec(error.stack ?? "")?.[0];
  return place === undefined ? error.message : `${error.message} (${place})`;
}

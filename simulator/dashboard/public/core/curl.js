/** One shell word, whatever is in it. */
export function shellWord(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The request of an attempt as a command, byte for byte as it was sent. */
export function attemptCurl(url, request) {
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`,
  );
  return ["curl -i", ...headers, `--data-binary ${shellWord(request.body)}`, shellWord(url)].join(" \\\n  ");
}

/** A call of the REST API as a command. */
export function apiCurl(path, apiKey) {
  const key = apiKey === "" ? [] : [`-H ${shellWord(`Authorization: Bearer ${apiKey}`)}`];
  return ["curl -i", ...key, shellWord(`${location.origin}${path}`)].join(" \\\n  ");
}

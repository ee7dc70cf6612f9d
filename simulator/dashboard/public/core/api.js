/** An error in words that can be shown as they are. `status` is 0 when the simulator did not answer at all. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const UNREACHABLE = "The simulator does not answer. Is it still running? This page comes back when it does.";

/** The control API: answers the parsed body, or throws an `ApiError` with the words of the answer. */
export const control = {
  get: (path) => send("GET", path),
  post: (path, body = {}) => send("POST", path, body),
  patch: (path, body) => send("PATCH", path, body),
  delete: (path) => send("DELETE", path),
};

async function send(method, path, body) {
  const url = `/control${path}`;
  // An id can come from the address of the page: it must not climb to another route.
  const { pathname, search } = new URL(url, location.origin);
  if (pathname + search !== url) throw new ApiError(0, `There is nothing at ${url}.`);
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await reach(url, { method, headers, body: JSON.stringify(body) });
  const value = await parse(response);
  if (response.ok) return value;
  throw new ApiError(response.status, wordsOf(response, value));
}

/** The REST API of the service, as a client with `apiKey` sees it: answers whatever came back, errors included. */
export async function callApi(path, apiKey) {
  const startedAt = performance.now();
  const response = await reach(path, { headers: apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` } });
  const text = await response.text();
  return { status: response.status, durationMs: performance.now() - startedAt, text, value: parseJson(text) };
}

/** A document that is served beside the control API, or an `ApiError`. */
export async function readServed(path) {
  const response = await reach(path, {});
  if (response.ok) return parse(response);
  throw new ApiError(response.status, wordsOf(response, await parse(response)));
}

/** One page of a list of the REST API, or an `ApiError`. */
export async function readApi(path, apiKey) {
  const { status, value } = await callApi(path, apiKey);
  if (status === 200) return value;
  throw new ApiError(status, value?.message ?? `The API answered ${status}.`);
}

async function reach(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    throw new ApiError(0, UNREACHABLE);
  }
}

async function parse(response) {
  return parseJson(await response.text());
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wordsOf(response, value) {
  if (typeof value?.message === "string") return value.message;
  return `The simulator answered ${response.status} ${response.statusText}.`.replace(" .", ".");
}

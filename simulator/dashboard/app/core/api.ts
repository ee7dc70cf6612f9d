import { createStore } from "./toasts.ts";
import type { Gets, Page, Patches, Posts } from "./types.ts";

/** An error in words that can be shown as they are. `status` is 0 when the simulator did not answer at all. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Any thrown value, as an error to show. */
export function asError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, error instanceof Error ? error.message : String(error));
}

const SLOW_MS = 2_000;
const UNREACHABLE = "The simulator does not answer. Is it still running? This page reloads when it does.";

/** The control API: returns the parsed body, or throws an `ApiError` with the message of the answer. */
export const control = {
  get: <Path extends keyof Gets>(path: Path) => readTogether<Gets[Path]>(path),
  post: <Path extends keyof Posts>(path: Path, body: object = {}) => send<Posts[Path]>("POST", path, body),
  patch: <Path extends keyof Patches>(path: Path, body: object) => send<Patches[Path]>("PATCH", path, body),
  delete: (path: `/endpoints/${string}`) => send<unknown>("DELETE", path),
};

async function send<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const url = `/control${path}`;
  // An id can come from the address of the page: it must not climb to another route.
  const { pathname, search } = new URL(url, location.origin);
  if (pathname + search !== url) throw new ApiError(0, `${url} does not exist.`);
  const headers = new Headers(body === undefined ? {} : { "content-type": "application/json" });
  const response = await reach(url, { method, headers, body: JSON.stringify(body) });
  return read<Answer>(response);
}

/** Paths that are read together if requested at once, by the route for that. */
const TOGETHER =
  /^\/(?:about|clock|clock\/ahead|counts|deliveries|endpoints|events|history|organizations)(?:\?|$)/;
type Many = { data: { status: number; body: ApiValue }[] };

const begun = Promise.withResolvers<void>();
let together: { paths: string[]; answers: Promise<Many> } | undefined;

/** Starts reading: requests wait until then, so that the first load of a page is one request. */
export function beginReading(): void {
  begun.resolve();
}

async function readTogether<Answer>(path: string): Promise<Answer> {
  if (!TOGETHER.test(path)) return send("GET", path);
  together ??= gather();
  const { paths, answers } = together;
  if (!paths.includes(path)) paths.push(path);
  const answer = (await answers).data[paths.indexOf(path)];
  if (answer?.status !== 200) throw new ApiError(answer?.status ?? 0, String(answer?.body.message));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an answer has the type that its path has
  return answer.body as Answer;
}

function gather(): { paths: string[]; answers: Promise<Many> } {
  const paths: string[] = [];
  const answers = begun.promise.then(async (): Promise<Many> => {
    together = undefined;
    const [first = ""] = paths;
    if (paths.length === 1) return { data: [{ status: 200, body: await send<ApiValue>("GET", first) }] };
    return send("GET", `/many?${new URLSearchParams(paths.map((path) => ["path", path])).toString()}`);
  });
  return { paths, answers };
}

export type ApiAnswer = { status: number; durationMs: number; text: string };
/** The fields of an answer that are read before its type is known. */
type ApiValue = { message?: unknown };

function bearer(key: string) {
  return { headers: new Headers(key === "" ? {} : { authorization: `Bearer ${key}` }) };
}

/** The service's REST API as a client with `apiKey` sees it. Returns every answer, including errors. */
export async function callApi(path: string, apiKey: string): Promise<ApiAnswer> {
  const startedAt = performance.now();
  const response = await reach(path, bearer(apiKey));
  const text = await response.text();
  return { status: response.status, durationMs: performance.now() - startedAt, text };
}

/** A document served beside the control API, or an `ApiError`. */
export async function readServed<Answer>(path: string): Promise<Answer> {
  return read<Answer>(await reach(path, {}));
}

/** One page of a list of the REST API, or an `ApiError`. */
export async function readApi<Item>(path: string, apiKey: string): Promise<Page<Item>> {
  return read<Page<Item>>(await reach(path, bearer(apiKey)));
}

/** The number of requests that have waited for two seconds. */
export const slowRequests = createStore({ count: 0 });
const countSlow = (more: number) => slowRequests.set({ count: slowRequests.get().count + more });

async function reach(url: string, options: RequestInit): Promise<Response> {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    countSlow(1);
  }, SLOW_MS);
  try {
    return await fetch(url, options);
  } catch {
    throw new ApiError(0, UNREACHABLE);
  } finally {
    clearTimeout(timer);
    if (isSlow) countSlow(-1);
  }
}

/** The answers have the types of the routes: both are from the same version of the same program. */
async function read<Answer>(response: Response): Promise<Answer> {
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, wordsOf(response, parseJson(text)));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where an answer gets its type
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

function parseJson(text: string): ApiValue | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what an answer may be, all of it optional
    return JSON.parse(text) as ApiValue;
  } catch {
    return undefined;
  }
}

function wordsOf(response: Response, value: ApiValue | undefined): string {
  if (typeof value?.message === "string") return value.message;
  return `The simulator answered ${response.status} ${response.statusText}.`.replace(" .", ".");
}

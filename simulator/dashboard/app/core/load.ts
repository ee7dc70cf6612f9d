import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asError, control, readApi } from "./api.ts";
import { useLive } from "./live.ts";
import type { Gets, Resources } from "./types.ts";

type State<Value> = { key?: string; value?: Value; error?: ApiError };
type Again = { again?: unknown; afterMs?: number };

/**
 * What `load()` answers, loaded again when `key` changes and when the simulator came back; and `afterMs` after `again`
 * changed. The last value of a key stays in sight meanwhile, so nothing jumps: `{ value, error, reload }`.
 */
export function useLoaded<Value>(
  key: string,
  load: () => Promise<Value>,
  { again, afterMs = 0 }: Again = {},
) {
  const { generation } = useLive();
  const [state, setState] = useState<State<Value>>({});
  const run = useRef(0);
  const loadedFor = useRef(again);
  const latest = useRef({ key, load });
  latest.current = { key, load };

  /** Of whatever is wanted when it is called: a timer may have kept it since something else was. */
  const reload = useCallback(async (wanted = latest.current) => {
    const own = ++run.current;
    try {
      const value = await wanted.load();
      if (own === run.current) setState({ key: wanted.key, value });
    } catch (error) {
      if (own === run.current) setState((before) => ({ ...before, key: wanted.key, error: asError(error) }));
    }
  }, []);
  useEffect(() => {
    void reload();
    return () => void run.current++;
  }, [key, generation]);
  useEffect(() => {
    if (loadedFor.current === again) return undefined;
    loadedFor.current = again;
    const timer = setTimeout(() => reload(), afterMs);
    return () => clearTimeout(timer);
  }, [again]);

  const { value, error }: State<Value> = state.key === key ? state : {};
  const loadBy = (other: () => Promise<Value>) => reload({ key, load: other });
  return { value, error, reload: () => reload(), loadBy };
}

/** What the control API answers at a path, in the same way. */
export const useGot = <Path extends keyof Gets>(path: Path, again?: Again) =>
  useLoaded<Gets[Path]>(path, () => control.get(path), again);

export type ApiPages<Item> = {
  items: Item[];
  hasMore: boolean;
  isLoaded: boolean;
  error: ApiError | undefined;
  loadMore: () => Promise<void>;
};

/**
 * A list of the REST API, page by page (SPEC §4 Pagination): what is loaded, whether there is more, and how to get it.
 */
export function useApiPages<Path extends keyof Resources>(
  path: Path,
  filters: Record<string, string>,
  apiKey: string,
): ApiPages<Resources[Path]> {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  const query = new URLSearchParams([["limit", "50"], ...set]).toString();
  async function after(items: Resources[Path][]) {
    const cursor = items.length === 0 ? "" : `&starting_after=${encodeURIComponent(items.at(-1)?.id ?? "")}`;
    const page = await readApi<Resources[Path]>(`${path}?${query}${cursor}`, apiKey);
    return { items: [...items, ...page.data], hasMore: page.has_more };
  }
  const { value, error, loadBy } = useLoaded(`${path} ${apiKey}`, () => after([]), { again: query });
  const { items = [], hasMore = false } = value ?? {};
  return { items, hasMore, isLoaded: value !== undefined, error, loadMore: () => loadBy(() => after(items)) };
}

/**
 * Asks `afterMs` after `key` changed, and hands on what comes unless it has changed again. What `take` answers is after how
 * many milliseconds to ask again.
 */
export function useLater<Answer>(
  key: string,
  afterMs: number,
  ask: () => Promise<Answer>,
  take: (answer: Answer) => number | void,
): void {
  useEffect(() => {
    let isCurrent = true;
    let timer = setTimeout(run, afterMs);
    async function run() {
      const answer = await ask();
      const againMs = isCurrent ? take(answer) : undefined;
      if (againMs !== undefined) timer = setTimeout(run, againMs);
    }
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
}

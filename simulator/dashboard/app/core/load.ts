import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asError, control, readApi } from "./api.ts";
import { createNewest, createPatience } from "./late-answers.ts";
import { useLive } from "./live.ts";
import type { Gets, Resources } from "./types.ts";

type State<Value> = { key?: string; value?: Value; error?: ApiError };
type Again = { again?: unknown; afterMs?: number };

/**
 * The result of `load()`, loaded again when `key` changes or the simulator came back, and `afterMs` or more after `again`
 * changed. The last value of a key stays visible meanwhile, so nothing jumps.
 */
export function useLoaded<Value>(key: string, load: () => Promise<Value>, options: Again = {}) {
  const { again, afterMs = 0 } = options;
  const { generation } = useLive();
  const [state, setState] = useState<State<Value>>({});
  const [newest] = useState(createNewest);
  const [patience] = useState(() => createPatience(afterMs));
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const loadedFor = useRef(again);
  const latest = useRef({ key, load });
  latest.current = { key, load };

  /** Loads the current key: it may have changed since a timer was set. */
  const reload = useCallback(async (wanted = latest.current) => {
    const asked = patience.time(wanted.load()).then(
      (value): State<Value> => ({ key: wanted.key, value }),
      (error: unknown) => ({ key: wanted.key, error: asError(error) }),
    );
    await newest.of(asked, (next) =>
      setState((before) => ("error" in next && before.key === next.key ? { ...before, ...next } : next)),
    );
  }, []);
  useEffect(() => {
    void reload();
    return () => newest.overtake();
  }, [key, generation]);
  useEffect(() => {
    if (loadedFor.current === again) return;
    loadedFor.current = again;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void reload();
    }, patience.ms());
  }, [again]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const { value, error }: State<Value> = state.key === key ? state : {};
  const loadBy = (other: () => Promise<Value>) => reload({ key, load: other });
  return { value, error, reload: () => reload(), loadBy };
}

/** The same for the answer of a path of the control API. */
export const useGot = <Path extends keyof Gets>(path: Path, again?: Again) =>
  useLoaded<Gets[Path]>(path, () => control.get(path), again);

/** A list of the REST API, page by page (SPEC §4 Pagination): the loaded items, whether there is more, and how to load it. */
export function useApiPages<Path extends keyof Resources>(path: Path, apiKey: string) {
  async function after(items: Resources[Path][]) {
    const cursor = items.length === 0 ? "" : `&starting_after=${encodeURIComponent(items.at(-1)?.id ?? "")}`;
    const page = await readApi<Resources[Path]>(`${path}?limit=50${cursor}`, apiKey);
    return { items: [...items, ...page.data], hasMore: page.has_more };
  }
  const { value, error, loadBy } = useLoaded(`${path} ${apiKey}`, () => after([]));
  const { items = [], hasMore = false } = value ?? {};
  return { items, hasMore, isLoaded: value !== undefined, error, loadMore: () => loadBy(() => after(items)) };
}

/**
 * The result of `ask`, called `afterMs` after `key` changed and, if `againMs` of the answer is a number, again after that
 * time. The last answer stays visible meanwhile; undefined before the first.
 */
export function useLater<Answer>(
  key: string,
  afterMs: number,
  ask: () => Promise<Answer | undefined>,
  againMs?: (answer: Answer | undefined) => number | undefined,
): Answer | undefined {
  const [answer, setAnswer] = useState<Answer>();
  useEffect(() => {
    let isCurrent = true;
    let timer = setTimeout(run, afterMs);
    async function run() {
      const next = await ask();
      if (!isCurrent) return;
      if (next !== undefined) setAnswer(() => next);
      const nextMs = againMs?.(next);
      if (nextMs !== undefined) timer = setTimeout(run, nextMs);
    }
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
  return answer;
}

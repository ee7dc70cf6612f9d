import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asError, readApi } from "./api.ts";
import { useLive } from "./live.ts";
import type { Resources } from "./types.ts";

type State<Item> = { key: string | undefined; items: Item[]; hasMore: boolean };
export type ApiPages<Item> = State<Item> & {
  isLoaded: boolean;
  error: Error | undefined;
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
  const { generation } = useLive();
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")).toString();
  const key = `${path}?${query} ${apiKey} ${generation}`;
  const [state, setState] = useState<State<Resources[Path]>>({ key: undefined, items: [], hasMore: false });
  const [error, setError] = useState<Error>();
  const run = useRef(0);

  const load = useCallback(
    async (items: Resources[Path][]) => {
      const own = ++run.current;
      const after = items.length === 0 ? "" : `&starting_after=${encodeURIComponent(items.at(-1)?.id ?? "")}`;
      try {
        const page = await readApi<Resources[Path]>(`${path}?limit=50&${query}${after}`, apiKey);
        if (own !== run.current) return;
        setError(undefined);
        setState({ key, items: [...items, ...page.data], hasMore: page.has_more });
      } catch (problem) {
        if (own === run.current) setError(asError(problem));
      }
    },
    [key],
  );
  useEffect(() => {
    void load([]);
    return () => void run.current++;
  }, [load]);
  return { ...state, isLoaded: state.key !== undefined, error, loadMore: () => load(state.items) };
}

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { readApi } from "./api.js";
import { useLive } from "./live.js";

/**
 * A list of the REST API, page by page (SPEC §4 Pagination): what is loaded, whether there is more, and how to get it.
 */
export function useApiPages(path, filters, apiKey) {
  const { generation } = useLive();
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")).toString();
  const key = `${path}?${query} ${apiKey} ${generation}`;
  const [state, setState] = useState({ key: undefined, items: [], hasMore: false });
  const [error, setError] = useState();
  const run = useRef(0);

  const load = useCallback(
    async (items) => {
      const own = ++run.current;
      const after = items.length === 0 ? "" : `&starting_after=${encodeURIComponent(items.at(-1).id)}`;
      try {
        const page = await readApi(`${path}?limit=50&${query}${after}`, apiKey);
        if (own !== run.current) return;
        setError(undefined);
        setState({ key, items: [...items, ...page.data], hasMore: page.has_more === true });
      } catch (problem) {
        if (own === run.current) setError(problem);
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

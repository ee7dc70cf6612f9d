import { type ApiError, asError } from "./api.ts";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useLive } from "./live.ts";

type State<Value> = { key?: string; value?: Value; error?: ApiError };

/**
 * What `load()` answers, loaded again when `key` changes and when the simulator came back. The last value stays in sight
 * meanwhile, so nothing jumps: `{ value, error, reload }`.
 */
export function useLoaded<Value>(key: string, load: () => Promise<Value>) {
  const { generation } = useLive();
  const [state, setState] = useState<State<Value>>({});
  const run = useRef(0);
  const latest = useRef(load);
  latest.current = load;

  const reload = useCallback(async () => {
    const own = ++run.current;
    try {
      const value = await latest.current();
      if (own === run.current) setState({ key, value });
    } catch (error) {
      if (own === run.current) setState((before) => ({ ...before, key, error: asError(error) }));
    }
  }, [key]);

  useEffect(() => {
    void reload();
    return () => void run.current++;
  }, [reload, generation]);

  const isOfOtherKey = state.key !== key;
  return {
    value: isOfOtherKey ? undefined : state.value,
    error: isOfOtherKey ? undefined : state.error,
    reload,
    setValue: (value: Value) => setState({ key, value }),
  };
}

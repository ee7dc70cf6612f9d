import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asError } from "./api.ts";
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
  const latest = useRef({ key, load });
  latest.current = { key, load };

  /** Of whatever is wanted when it is called: a timer may have kept it since something else was. */
  const reload = useCallback(async () => {
    const own = ++run.current;
    const wanted = latest.current;
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

  const isOfOtherKey = state.key !== key;
  return {
    value: isOfOtherKey ? undefined : state.value,
    error: isOfOtherKey ? undefined : state.error,
    reload,
    setValue: (value: Value) => setState({ key, value }),
  };
}

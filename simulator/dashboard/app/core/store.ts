import { useEffect, useState } from "preact/hooks";

/** A value that components watch: each that `use`s it renders again when it changes. */
export function createStore<Value extends object | undefined>(first: Value) {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set(next: Value): void {
      value = next;
      for (const watcher of watchers) watcher();
    },
    use: (): Value => {
      const [shown, setShown] = useState(value);
      useEffect(() => {
        const update = () => setShown(value);
        // What changed after this render and before anybody watched for it must not be missed.
        update();
        watchers.add(update);
        return () => void watchers.delete(update);
      }, []);
      return shown;
    },
  };
}

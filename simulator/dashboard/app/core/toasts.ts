import { useEffect, useState } from "preact/hooks";

type Link = { href: string; words: string };
export type Toast = { id: number; kind: "ok" | "bad"; text: string; link: Link | undefined };

const SHOWN_MS = 6_000;
/** The toasts shown now. */
export const toasts = createStore<Toast[]>([]);
let nextId = 1;

/** Shows a short message, `ok` or `bad`, with an optional link. */
export function toast(kind: Toast["kind"], text: string, link?: Link): void {
  const id = nextId++;
  toasts.set([...toasts.get().slice(-2), { id, kind, text, link }]);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((shown) => shown.id !== id));
}

/** Runs `action`, and shows the message of any error. Returns its result, or undefined. */
export async function attempt<Value>(action: () => Promise<Value>): Promise<Value | undefined> {
  try {
    const answer = await action();
    // Earlier errors are out of date.
    toasts.set(toasts.get().filter(({ kind }) => kind !== "bad"));
    return answer;
  } catch (error) {
    toast("bad", messageOf(error));
    return undefined;
  }
}

/** `attempt` for a component that shows it: `busy` is the name of the action under way. */
export function useAttempt() {
  const [busy, setBusy] = useState<string>();
  async function run<Value>(name: string, action: () => Promise<Value>): Promise<Value | undefined> {
    setBusy(name);
    const answer = await attempt(action);
    setBusy(undefined);
    return answer;
  }
  return [busy, run] as const;
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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
        // Catches a change between this render and the subscription.
        update();
        watchers.add(update);
        return () => void watchers.delete(update);
      }, []);
      return shown;
    },
  };
}

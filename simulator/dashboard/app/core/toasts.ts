import { createStore } from "./store.ts";

type Link = { href: string; words: string };
export type Toast = { id: number; kind: "ok" | "bad"; text: string; link: Link | undefined };

const SHOWN_MS = 6_000;
/** What is shown now. */
export const toasts = createStore<Toast[]>([]);
let nextId = 1;

/** Says something in passing: `ok` or `bad`, with a link if there is somewhere to go. */
export function toast(kind: Toast["kind"], text: string, link?: Link): void {
  const id = nextId++;
  toasts.set([...toasts.get().slice(-2), { id, kind, text, link }]);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((shown) => shown.id !== id));
}

/** Does `action`, and shows the words of whatever goes wrong. Answers what it answered, or undefined. */
export async function attempt<Value>(action: () => Promise<Value>): Promise<Value | undefined> {
  try {
    const answer = await action();
    // What went wrong before is over.
    toasts.set(toasts.get().filter(({ kind }) => kind !== "bad"));
    return answer;
  } catch (error) {
    toast("bad", messageOf(error));
    return undefined;
  }
}

/** The words of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

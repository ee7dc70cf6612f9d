const SHOWN_MS = 6_000;
const watchers = new Set();
let toasts = [];
let nextId = 1;

/** Says something in passing: `ok` or `bad`, with a link if there is somewhere to go. */
export function toast(kind, text, link) {
  const id = nextId++;
  toasts = [...toasts.slice(-2), { id, kind, text, link }];
  tell();
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id) {
  toasts = toasts.filter((shown) => shown.id !== id);
  tell();
}

/** Does `action`, and shows the words of whatever goes wrong. Answers what it answered, or undefined. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    toast("bad", error.message);
    return undefined;
  }
}

export function watchToasts(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function tell() {
  for (const watcher of watchers) watcher(toasts);
}

import { createStore } from "./toasts.ts";

const REMEMBERED = "views";

/** Filters under a name, as this browser remembers them: pairs of name and query. */
const saved = createStore<[name: string, query: string][]>(
  (localStorage.getItem(REMEMBERED) ?? "")
    .split("\n")
    .flatMap((line) => [line.split("\t")])
    .flatMap(([name, query]) => (name && query ? [[name, query]] : [])),
);

export const useViews = saved.use;

/** Keeps the filters of a query under a name, or with no query forgets them. */
export function saveView(name: string, query?: string): void {
  const clean = name.replaceAll(/\s+/g, " ").trim();
  const others = saved.get().filter(([known]) => known !== clean);
  const next = query === undefined || clean === "" ? others : [...others, [clean, query] as [string, string]];
  localStorage.setItem(REMEMBERED, next.map((view) => view.join("\t")).join("\n"));
  saved.set(next);
}

import { createStore } from "./toasts.ts";

/** The chosen deliveries: some by their ids, or all that match the filters; `last` is where a range begins. */
export type Picked = { ids: readonly string[]; isAll: boolean; last: string | undefined };

export const NOTHING_PICKED: Picked = { ids: [], isAll: false, last: undefined };

/** The selection in the list, until the user changes it or looks at another list. */
export const picked = createStore<Picked>(NOTHING_PICKED);

/** Toggles `id`; with `isRange`, chooses all from the last one to it. Choosing one by one ends "all". */
export function pick(before: Picked, listed: readonly string[], id: string, isRange = false): Picked {
  const ids = before.isAll ? listed : before.ids;
  const [from, to] = [listed.indexOf(before.last ?? ""), listed.indexOf(id)];
  if (isRange && from !== -1 && to !== -1) {
    const range = listed.slice(Math.min(from, to), Math.max(from, to) + 1);
    return { ids: [...new Set([...ids, ...range])], isAll: false, last: id };
  }
  const others = ids.filter((other) => other !== id);
  return { ids: others.length < ids.length ? others : [...ids, id], isAll: false, last: id };
}

/** Chooses all that are listed, or none if they are chosen already. */
export function pickListed(before: Picked, listed: readonly string[]): Picked {
  if (before.isAll || listed.every((id) => before.ids.includes(id))) return NOTHING_PICKED;
  return { ids: listed, isAll: false, last: undefined };
}

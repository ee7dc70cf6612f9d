import { useRef } from "preact/hooks";

/**
 * While one reads further down, or has paused, new rows wait, so that what one looks at stays where it is; `key` names
 * the list: another one begins at its top.
 */
export function useHeldRows(all, isHeld, key) {
  const top = useRef();
  const first = all[0]?.key;
  if (!isHeld || top.current?.key !== key) top.current = { first, key };
  if (!isHeld || first === top.current.first) return { rows: all, held: 0 };
  const held = all.findIndex((row) => row.key === top.current.first);
  return held <= 0 ? { rows: all, held: 0 } : { rows: all.slice(held), held };
}

import type { Row } from "./rows.ts";
import { useRef } from "preact/hooks";

/**
 * While one reads further down, or has paused, new rows wait, so that what one looks at stays where it is; `key` names
 * the list: another one begins at its top.
 */
export function useHeldRows(all: Row[], isHeld: boolean, key: string): { rows: Row[]; held: number } {
  const top = useRef<{ first: string | undefined; key: string } | undefined>(undefined);
  const first = all[0]?.key;
  if (!isHeld || top.current?.key !== key) top.current = { first, key };
  const { first: firstThen } = top.current;
  if (!isHeld || first === firstThen) return { rows: all, held: 0 };
  const held = all.findIndex((row) => row.key === firstThen);
  return held <= 0 ? { rows: all, held: 0 } : { rows: all.slice(held), held };
}

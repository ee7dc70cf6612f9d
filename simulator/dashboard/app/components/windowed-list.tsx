import type { ComponentChildren, Ref } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 8;
const AWAY_PX = 60;
/** How far from its old place a row is looked for. */
const MOST_MOVED_ROWS = 500;

/** What others can do with a list. */
export type ListHandle = { focus: (index: number) => void; focusedIndex: () => number; toTop: () => void };

type WindowedListProps = {
  count: number;
  rowHeight: number;
  row: (index: number) => ComponentChildren;
  keyOf: (index: number) => string;
  onNearEnd: () => unknown;
  onAway: (isAway: boolean) => void;
  handle: Ref<ListHandle>;
  label: string;
  foot: ComponentChildren;
};

/**
 * A list of any length that scrolls by itself, of which only the rows in sight exist. `row(index)` renders one;
 * `onNearEnd()` is called while the end is in sight, `onAway(isAway)` when one leaves or reaches the top; `foot` stands
 * below the last row. The handle has `focus(index)`, `focusedIndex()` and `toTop()`.
 */
export function WindowedList({ count, rowHeight, row, keyOf, handle, label, ...rest }: WindowedListProps) {
  const { onNearEnd, onAway, foot } = rest;
  const scroller = useRef<HTMLDivElement>(null);
  const [[first, last], setRange] = useState<[first: number, last: number]>([0, 40]);
  const wanted = useRef<number | undefined>(undefined);

  function measure() {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const from = Math.max(0, Math.floor(scrollTop / rowHeight) - BEYOND);
    const to = Math.min(count, Math.ceil((scrollTop + clientHeight) / rowHeight) + BEYOND);
    setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
    onAway(scrollTop > AWAY_PX);
    if (to >= count - BEYOND) onNearEnd();
  }
  /** The row that stood at the top when the list was left, or the page loaded again: until it is found. */
  const left = useRef(readPlace(label));
  function comeBack() {
    const element = scroller.current;
    if (element === null || left.current === undefined) return;
    const { key, index } = left.current;
    for (let at = 0; at < count; at++) {
      if (keyOf(at) !== key) continue;
      element.scrollTop = at * rowHeight;
      // There may be too few rows below it yet.
      if (element.scrollTop >= at * rowHeight - 1) left.current = undefined;
      else onNearEnd();
      return;
    }
    if (count < index + MOST_MOVED_ROWS) onNearEnd();
    else left.current = undefined;
  }
  function rememberPlace() {
    const { scrollTop = 0 } = scroller.current ?? {};
    const index = Math.floor(scrollTop / rowHeight);
    if (left.current !== undefined) return;
    if (scrollTop > AWAY_PX) sessionStorage.setItem(`place ${label}`, `${index} ${keyOf(index)}`);
    else sessionStorage.removeItem(`place ${label}`);
  }
  const measureNow = useRef(measure);
  measureNow.current = measure;
  useLayoutEffect(comeBack);
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => measureNow.current());
    if (scroller.current !== null) watcher.observe(scroller.current);
    return () => watcher.disconnect();
  }, []);
  function scrolled() {
    rememberPlace();
    measure();
  }
  const stay = () => (left.current = undefined);

  // A row that was out of sight can take the focus once it exists.
  useEffect(() => {
    if (wanted.current === undefined) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a`);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });

  /** Scrolls just so far that a row is in sight. */
  function reveal(index: number): void {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, clientHeight } = element;
    left.current = undefined;
    const top = index * rowHeight;
    if (top < scrollTop) element.scrollTop = top;
    else if (top + rowHeight > scrollTop + clientHeight) element.scrollTop = top + rowHeight - clientHeight;
  }
  useImperativeHandle(
    handle,
    () => ({
      focus(index: number) {
        if (index < 0 || index >= count) return;
        wanted.current = index;
        reveal(index);
        setRange(([from, to]) => [Math.min(from, index), Math.max(to, index + 1)]);
      },
      // A key may come before the row that takes the focus exists.
      focusedIndex: () =>
        wanted.current ??
        Number(document.activeElement?.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1),
      toTop() {
        left.current = undefined;
        scroller.current?.scrollTo(0, 0);
      },
    }),
    [count, rowHeight],
  );

  const shown = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, at) => first + at);
  return (
    <div
      class="scroller"
      ref={scroller}
      onScroll={scrolled}
      onWheel={stay}
      onPointerDown={stay}
      onKeyDown={stay}
    >
      <ol class="windowed" aria-label={label} style={{ height: `${count * rowHeight}px` }}>
        {shown.map((index) => (
          <li
            key={keyOf(index)}
            data-index={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {row(index)}
          </li>
        ))}
      </ol>
      {foot}
    </div>
  );
}

/** The remembered place in a list: the key of the first row in sight, and its index. */
function readPlace(label: string): { key: string; index: number } | undefined {
  const [, index, key] = /^(\d+) (.+)$/.exec(sessionStorage.getItem(`place ${label}`) ?? "") ?? [];
  return key === undefined ? undefined : { key, index: Number(index) };
}

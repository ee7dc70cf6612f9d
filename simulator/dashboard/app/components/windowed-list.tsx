import type { ComponentChildren, Ref } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";

const BEYOND = 8;
const AWAY_PX = 60;

/** What other components can do with a list. */
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
 * A scrolling list of any length that renders only the visible rows. `row(index)` renders one; `onNearEnd()` is called while
 * the end is visible, `onAway(isAway)` when the user leaves or reaches the top; `foot` is shown below the last row. The
 * handle has `focus(index)`, `focusedIndex()` and `toTop()`.
 */
export function WindowedList({ count, rowHeight, row, keyOf, handle, label, ...rest }: WindowedListProps) {
  const { onNearEnd, onAway, foot } = rest;
  const scroller = useRef<HTMLDivElement>(null);
  const [[first, last], setRange] = useState<[first: number, last: number]>([0, 40]);
  const wanted = useRef<number | undefined>(undefined);

  function measure() {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    // Hidden by a delivery: it keeps its position.
    if (clientHeight === 0) return;
    const from = Math.max(0, Math.floor(scrollTop / rowHeight) - BEYOND);
    const to = Math.min(count, Math.ceil((scrollTop + clientHeight) / rowHeight) + BEYOND);
    setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
    onAway(scrollTop > AWAY_PX);
    if (to >= count - BEYOND) onNearEnd();
  }
  const measureNow = useRef(measure);
  measureNow.current = measure;
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(() => measureNow.current());
    if (scroller.current !== null) watcher.observe(scroller.current);
    return () => watcher.disconnect();
  }, []);
  // A row outside the view can get the focus once it is rendered.
  useEffect(() => {
    if (wanted.current === undefined) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a`);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });

  /** Scrolls the minimum that makes a row visible. */
  function reveal(index: number): void {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop, clientHeight } = element;
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
      toTop: () => scroller.current?.scrollTo(0, 0),
    }),
    [count, rowHeight],
  );

  const shown = Array.from({ length: Math.max(0, Math.min(last, count) - first) }, (_, at) => first + at);
  return (
    <div class="scroller" ref={scroller} onScroll={measure}>
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

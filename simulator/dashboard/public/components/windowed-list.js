import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../core/html.js";

const BEYOND = 8;

/**
 * A list of any length in the scrolling page, of which only the rows in sight exist. `row(index)` renders one;
 * `onNearEnd()` is called when the end comes into sight. The handle can `focus(index)`.
 */
export function WindowedList({ count, rowHeight, row, keyOf, onNearEnd, handle, label }) {
  const ref = useRef();
  const [[first, last], setRange] = useState([0, 40]);
  const wanted = useRef();

  useLayoutEffect(() => {
    function measure() {
      const { top } = ref.current.getBoundingClientRect();
      const from = Math.max(0, Math.floor(-top / rowHeight) - BEYOND);
      const to = Math.min(count, Math.ceil((innerHeight - top) / rowHeight) + BEYOND);
      setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
      if (to >= count - BEYOND) onNearEnd?.();
    }
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, [count, rowHeight, onNearEnd]);

  // A row that was out of sight can take the focus once it exists.
  useEffect(() => {
    if (wanted.current === undefined) return;
    const link = ref.current.querySelector(`[data-index="${wanted.current}"] a`);
    if (link === null) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });

  useImperativeHandle(
    handle,
    () => ({
      focus(index) {
        if (index < 0 || index >= count) return;
        wanted.current = index;
        reveal(ref.current.getBoundingClientRect().top + index * rowHeight, rowHeight);
        setRange(([from, to]) => [Math.min(from, index), Math.max(to, index + 1)]);
      },
      focusedIndex: () => Number(document.activeElement?.closest("[data-index]")?.dataset.index ?? -1),
    }),
    [count, rowHeight],
  );

  const shown = [];
  for (let index = first; index < Math.min(last, count); index++) {
    shown.push(
      html`<li
        key=${keyOf(index)}
        data-index=${index}
        aria-setsize=${count}
        aria-posinset=${index + 1}
        style=${{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
      >
        ${row(index)}
      </li>`,
    );
  }
  return html`<ol
    ref=${ref}
    class="windowed"
    aria-label=${label}
    style=${{ height: `${count * rowHeight}px` }}
  >
    ${shown}
  </ol>`;
}

/** Scrolls just so far that a row lies below what sticks to the top and above the bottom. */
function reveal(top, rowHeight) {
  const style = getComputedStyle(document.documentElement);
  const above = Number.parseFloat(style.getPropertyValue("--sticky")) || 0;
  const below = Number.parseFloat(style.getPropertyValue("--bottom")) || 0;
  if (top < above) scrollBy(0, top - above);
  else if (top + rowHeight > innerHeight - below) scrollBy(0, top + rowHeight - innerHeight + below);
}

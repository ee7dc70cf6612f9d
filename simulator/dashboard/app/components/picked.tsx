import { useRef, useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { countOf } from "../core/format.ts";
import type { Row } from "../core/rows.ts";
import { attempt, toast } from "../core/toasts.ts";
import { Button } from "./button.tsx";

/** Rows that were chosen: each by its mark or by `x`, a range by the Shift key. */
export function usePicked(rows: readonly Row[]) {
  const [ids, setIds] = useState<readonly string[]>([]);
  const last = useRef(-1);
  const idsOf = (from: number, to: number) =>
    rows.slice(from, to + 1).flatMap(({ kind, key }) => (kind === "delivery" ? [key] : []));

  function toggle(index: number) {
    const [id] = idsOf(index, index);
    if (index < 0 || id === undefined) return;
    last.current = index;
    setIds(ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]);
  }
  function click(event: MouseEvent) {
    if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey) return;
    const index = Number(event.target.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1);
    if (index < 0 || (!event.shiftKey && event.target.closest(".verdict-mark") === null)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.shiftKey || last.current < 0) return toggle(index);
    const range = idsOf(Math.min(last.current, index), Math.max(last.current, index));
    setIds([...new Set([...ids, ...range])]);
  }
  return { ids, toggle, click, clear: () => setIds([]) };
}

/** What can be done with the rows that were chosen. */
export function PickedBar({ ids, clear }: { ids: readonly string[]; clear: () => void }) {
  const [isBusy, setBusy] = useState(false);
  async function resend() {
    setBusy(true);
    let sent = 0;
    for (const id of ids)
      if (await attempt(() => control.post(`/deliveries/${encodeURIComponent(id)}/resend`))) sent += 1;
    setBusy(false);
    toast("ok", `${countOf(sent, "delivery", "deliveries")} sent again, with six attempts each.`);
    clear();
  }
  return (
    <div class="latest flex muted small" role="group" aria-label="Chosen deliveries">
      <b>{countOf(ids.length, "delivery", "deliveries")} chosen</b> <span class="spacer" />
      <Button icon="resend" kind="small" busy={isBusy} disabled={isBusy} onClick={resend}>
        Send again
      </Button>
      <Button kind="small" onClick={clear}>
        Clear
      </Button>
    </div>
  );
}

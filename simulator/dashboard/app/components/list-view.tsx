import { useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

const PARTS: [name: string, words: string][] = [
  ["type", "Event type"],
  ["where", "Where it goes"],
  ["strip", "The six slots"],
  ["how", "How it ended"],
  ["when", "When it was created"],
  ["chart", "A chart of what was sent"],
];
const REMEMBERED = "list-hides";

/** What of the list is hidden, as this browser remembers it: columns by their classes, and the chart. */
export function useListView() {
  const [hidden, setHidden] = useState(() => (localStorage.getItem(REMEMBERED) ?? "chart").split(" "));
  function toggle(name: string) {
    const next = hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name];
    localStorage.setItem(REMEMBERED, next.join(" "));
    setHidden(next);
  }
  return { hidden, toggle };
}

type ListViewProps = ReturnType<typeof useListView> & { onClose: () => void };

/** Chooses what the list shows. */
export function ListView({ hidden, toggle, onClose }: ListViewProps) {
  return (
    <Dialog title="What the list shows" onClose={onClose}>
      <div class="dialog-body form stack">
        {PARTS.map(([name, words]) => (
          <label class="check" key={name}>
            <input type="checkbox" checked={!hidden.includes(name)} onChange={() => toggle(name)} />
            {words}
          </label>
        ))}
        <p class="muted">Narrow lists show what there is room for.</p>
      </div>
      <footer class="dialog-foot flex">
        <Button kind="accent" onClick={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  );
}

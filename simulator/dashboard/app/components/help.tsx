import { PLACES } from "../core/places.ts";
import { Dialog } from "./dialog.tsx";

const SHORTCUTS: [group: string, shortcuts: [keys: string, words: string][]][] = [
  ["Go to", [...PLACES.map(({ key, words }): [string, string] => [`g ${key}`, words]), ["g d", "API docs"]]],
  [
    "Clock",
    [
      ["n", "Step to the next attempt"],
      ["m", "Advance one minute"],
      ["h", "Advance one hour"],
      ["Shift E", "Advance until nothing waits"],
      ["s", "To the line of what lies ahead: arrows, Enter"],
      ["Shift P", "Play from one due moment to the next, and pause"],
    ],
  ],
  [
    "Live",
    [
      ["j k", "Next and previous delivery"],
      ["Enter", "Open it"],
      ["/", "Search"],
      ["p", "Pause, and go on"],
      ["x", "Choose a delivery; or press its mark, a range with Shift"],
      ["Shift R", "Recover what was lost"],
    ],
  ],
  [
    "A delivery",
    [
      ["a", "Make the next attempt now"],
      ["r", "Resend"],
      ["e", "Edit and send again"],
      ["c", "Copy as curl"],
      ["← →", "Previous and next attempt"],
      ["u Esc", "Back to the list"],
    ],
  ],
  ["Endpoints", [["c", "Register an endpoint"]]],
  [
    "Everywhere",
    [
      ["Ctrl K", "Go to, or do: pages, actions, ids, names"],
      ["d", "Theme: auto, light, dark"],
      ["?", "This help"],
      ["Esc", "Close"],
    ],
  ],
];

/** Every keyboard shortcut. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" name="shortcut-groups" onClose={onClose} wide>
      {SHORTCUTS.map(([group, shortcuts]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {shortcuts.map(([keys, words]) => (
              <div class="flex" key={keys}>
                <dt class="flex">
                  {keys.split(" ").map((key) => (
                    <kbd>{key}</kbd>
                  ))}
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}

import { html } from "../core/html.js";
import { PLACES } from "../core/places.js";
import { Dialog } from "./dialog.js";

const SHORTCUTS = [
  ["Go to", [...PLACES.map(({ key, words }) => [`g ${key}`, words]), ["g d", "API docs"]]],
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
export function Help({ onClose }) {
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose} wide>
    <div class="dialog-body shortcut-groups">
      ${SHORTCUTS.map(
        ([group, shortcuts]) =>
          html`<section key=${group}>
            <h3>${group}</h3>
            <dl>
              ${shortcuts.map(
                ([keys, words]) =>
                  html`<div key=${keys}>
                    <dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt>
                    <dd>${words}</dd>
                  </div>`,
              )}
            </dl>
          </section>`,
      )}
    </div>
  <//>`;
}

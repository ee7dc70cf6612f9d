import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Action, allActions, goTo, type PaletteTools, STEPS, verifyEndpoint } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { useLater } from "../core/load.ts";
import { ranked } from "../core/ranking.ts";
import { PLACES } from "../core/route.ts";
import type { Endpoint } from "../core/types.ts";
import { lineOf, placeOf } from "../core/words.ts";
import { Icon } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

const SEARCH_AFTER_MS = 120;
const MOST_SHOWN = 12;
const MOST_FOUND = 6;

/** Finds pages, actions, endpoints and deliveries by a few letters; a whole id leads to its object. */
export function Palette({ onClose, toggleTheme, openHelp }: PaletteTools & { onClose: () => void }) {
  const { endpoints } = useLive();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const found = useFound(text);
  const ofEndpoints = [...(endpoints?.values() ?? [])].flatMap(endpointChoices);
  const choices = [
    ...idChoices(text.trim()),
    ...ranked([...allActions({ toggleTheme, openHelp }), ...ofEndpoints], text).slice(0, MOST_SHOWN),
    ...(text.trim() === "" ? [] : found),
  ];
  const chosen = Math.min(at, choices.length - 1);

  // Before the next key: what is typed right after the shortcut belongs in the palette.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  function choose(choice: Action | undefined) {
    onClose();
    choice?.run();
  }
  function press(event: KeyboardEvent) {
    if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, choices.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") choose(choices[chosen]);
    // Not by the browser, which closes first and reports later: a shortcut in between would be lost.
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  }
  return (
    <dialog class="palette box" ref={dialog} aria-label="Go to, or do" onClose={onClose}>
      <label class="search">
        <Icon name="search" size={16} />
        <span class="visually-hidden">Go to, or do</span>{" "}
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={choices.length > 0 ? `${id}-${chosen}` : undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder="A page, an action, an id, a name…"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </label>
      <ul id={id} role="listbox" aria-label="Choices">
        {choices.map((choice, index) => (
          <li
            key={`${choice.words} ${choice.id ?? ""}`}
            id={`${id}-${index}`}
            role="option"
            class="flex"
            aria-selected={index === chosen}
            onClick={() => choose(choice)}
            onMouseMove={() => setAt(index)}
          >
            <Icon name={choice.icon} size={15} />
            <span class="one-line foreign">{choice.words}</span>
            <span class="note one-line foreign">{choice.note}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p class="feed-end muted">Nothing found.</p>}
    </dialog>
  );
}

function idChoices(text: string): Action[] {
  const places: Record<string, [path: string, words: string]> = {
    dlv_: ["/deliveries/", "Open delivery"],
    evt_: ["/events/", "Open event"],
    ep_: ["/endpoints/", "Open endpoint"],
  };
  const [, prefix = ""] = /^(dlv_|evt_|ep_)\w+$/.exec(text) ?? [];
  const [path, words] = places[prefix] ?? [];
  return path === undefined ? [] : [{ id: text, ...goTo(`${words} ${text}`, "out", path + text) }];
}

function endpointChoices({ id, ...endpoint }: Endpoint): Action[] {
  const place = placeOf(endpoint);
  return [
    { id, note: "endpoint", ...goTo(place, "endpoints", `/endpoints/${id}`) },
    goTo(`Rotate the secret of ${place}`, "key", `/endpoints/${id}?rotate`, "roll key"),
    { words: `Verify ${place}`, icon: "verify", run: async () => verifyEndpoint(id) },
    goTo(`Deliveries to ${place}`, "live", `/?endpoint=${id}`),
  ];
}

/** Deliveries that have the text in them, payloads included, as the simulator finds them. */
function useFound(text: string): Action[] {
  const wanted = text.trim();
  const query = `/deliveries?limit=${MOST_FOUND}&q=${encodeURIComponent(wanted)}` as const;
  const page = useLater(wanted, SEARCH_AFTER_MS, async () => {
    const nothing = { data: [] };
    return wanted.length < 2 ? nothing : control.get(query).catch(() => nothing);
  });
  return (page?.data ?? []).map((one) => {
    return { id: one.id, note: one.event_type, ...goTo(lineOf(one), "live", `/deliveries/${one.id}`) };
  });
}

const SHORTCUTS: Record<string, Record<string, string>> = {
  "Go to": { ...Object.fromEntries(PLACES.map(({ key, words }) => [`g ${key}`, words])), "g d": "API docs" },
  Clock: {
    ...Object.fromEntries(STEPS.map(({ key, title }) => [key, title])),
    s: "To the time line: arrows, Enter",
  },
  Live: {
    "j k": "Next and previous delivery",
    Enter: "Open it",
    "/": "Search",
    p: "Pause and resume",
    x: "Choose a delivery (or press its box; a range with Shift)",
    R: "Send again",
  },
  "A delivery": {
    a: "Make the next attempt now",
    r: "Resend",
    e: "Edit and send again",
    c: "Copy as curl",
    "← →": "Previous and next attempt",
    "u Esc": "Back to the list",
  },
  Endpoints: { c: "Register an endpoint" },
  Everywhere: {
    "Ctrl K": "Go to, or do: pages, actions, ids, names",
    d: "Theme: auto, light, dark",
    "?": "This help",
    Esc: "Close",
  },
};

/** Every keyboard shortcut. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" name="shortcut-groups" onClose={onClose}>
      {Object.entries(SHORTCUTS).map(([group, shortcuts]) => (
        <section key={group} class="stack near">
          <h3>{group}</h3>
          <dl>
            {Object.entries(shortcuts).map(([keys, words]) => (
              <div class="flex hangs" key={keys}>
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

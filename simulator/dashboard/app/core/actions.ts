import { useEffect, useRef } from "preact/hooks";
import { control } from "./api.ts";
import { clockFrom, eventTypes } from "./live.ts";
import { listPath, navigate, PLACES } from "./route.ts";
import { attempt } from "./toasts.ts";
import type { IconName } from "../components/button.tsx";

/** An entry of the palette: its label, `also` for other words that find it, and its action. */
export type Action = {
  id?: string;
  words: string;
  also?: string | undefined;
  note?: string;
  icon: IconName;
  run: () => unknown;
};

/** Offers these in the palette while the component is shown, and by their keys. */
export function useActions(actions: (Action & { key: string })[]): void {
  useKeys(Object.fromEntries(actions.map(({ key, run }) => [key, run])), actions);
}

/** An action that opens a page of the dashboard. */
export function goTo(words: string, icon: IconName, path: string, also?: string): Action {
  return { words, also, icon, run: () => navigate(path) };
}

/** A step of schedule time: its key, the request to the clock, the texts of its button and its line. */
export type Step = { key: string; body: object; words: string; icon?: IconName; title: string };

export const STEPS: Step[] = [
  { key: "n", body: { until: "next" }, words: "Next", icon: "next", title: "Step to the next attempt" },
  { key: "m", body: { seconds: 60 }, words: "+1 min", title: "Advance one minute" },
  { key: "h", body: { seconds: 3_600 }, words: "+1 h", title: "Advance one hour" },
  { key: "E", body: { until: "idle" }, words: "To the end", icon: "end", title: "Until nothing waits" },
];

export type PaletteTools = { toggleTheme: () => void; openHelp: () => void };

/** Every action available anywhere: label, icon, function. */
export function allActions({ toggleTheme, openHelp }: PaletteTools): Action[] {
  return [
    ...layers.flatMap(({ current }) => current.actions),
    ...PLACES.map(({ path, words, also, icon }) =>
      goTo(`Go to ${words}`, icon, path === "/" ? listPath() : path, also),
    ),
    goTo("Show what is not right", "cross", "/?verdict=not"),
    goTo("Show what gave up", "flag", "/?state=lost", "dead failed still lost"),
    goTo("Show what timed out", "clock", "/?q=status:timeout", "slow timeout"),
    ...eventTypes().map((type): Action => {
      return { words: `Trigger ${type}`, icon: "trigger", run: () => trigger(type) };
    }),
    goTo("Register an endpoint", "plus", "/endpoints?new"),
    goTo("Recover what was lost (resend all that gave up)", "resend", "/?state=lost&resend"),
    ...STEPS.map(({ title: words, icon = "clock", body }): Action => {
      return { words, icon, run: () => attempt(() => clockFrom(control.post("/clock/advance", body))) };
    }),
    { words: "Change the theme", also: "dark light settings", icon: "sun", run: toggleTheme },
    { words: "Keyboard shortcuts", icon: "keyboard", run: openHelp },
    ...DOCS.map(([words, path, also]) => goTo(words, "book", path, also)),
  ];
}

/** Questions that the docs answer. */
const DOCS: [words: string, path: string, also: string][] = [
  ["API docs", "/docs", "help reference openapi"],
  ["Docs: the REST API", "/docs#rest", "console curl pages authorization bearer key limit"],
  ["Docs: webhooks and their retries", "/docs#webhooks", "retry policy delay attempt schedule envelope"],
  ["Docs: the signature", "/docs#signature", "verify hmac secret sha256 header code"],
  ["Docs: objects and their fields", "/docs#objects", "call voicemail order booking schema"],
];

export const VERIFY_TITLE = "Sends it hundreds of deliveries: honest, forged, broken and repeated";

/** Begins a run of `verify` on the receiver of an endpoint, of all checks or `only` some, and opens its page. */
export async function verifyEndpoint(id: string, only?: string[]): Promise<void> {
  if (await attempt(() => control.post(`/endpoints/${id}/verify`, { only }))) navigate("/verify");
}

async function trigger(type: string): Promise<void> {
  const sent = await attempt(() => control.post("/events", { type }));
  if (sent === undefined) return;
  const [delivery] = sent.deliveries;
  navigate(delivery === undefined ? `/events/${sent.events[0]?.id ?? ""}` : `/deliveries/${delivery.id}`);
}

type Bindings = Record<string, () => unknown>;

const SEQUENCE_MS = 1_200;
const REPEATABLE = /^(?:j|k|Arrow\w+)$/;
const layers: { current: { bindings: Bindings; actions: Action[] } }[] = [];
let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

/**
 * Shortcuts while the component is shown: `{ r: resend, "g e": goToEndpoints, "mod k": find }`. Later components come first. None works
 * while a dialog is open; while the user types, only those with `mod` do.
 */
export function useKeys(bindings: Bindings, actions: Action[] = []): void {
  const latest = useRef({ bindings, actions });
  latest.current = { bindings, actions };
  useEffect(() => {
    layers.unshift(latest);
    return () => void layers.splice(layers.indexOf(latest), 1);
  }, []);
}

/** Begins to listen for shortcuts. */
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const isWithMod = event.ctrlKey || event.metaKey;
    if (event.altKey || (isWithMod && event.key !== "k") || (!isWithMod && isTyping(event.target))) return;
    if (document.querySelector("dialog[open]") !== null) return;
    // A key that is held down moves through a list, and does everything else once.
    if (event.repeat && !REPEATABLE.test(event.key)) return;
    const key = isWithMod ? `mod ${event.key}` : event.key;
    const combination = prefix === "" ? key : `${prefix} ${key}`;
    forgetPrefix();
    const action = layers
      .map((layer) => layer.current.bindings[combination])
      .find((found) => found !== undefined);
    if (action !== undefined) {
      event.preventDefault();
      action();
    } else if (event.key === "g") {
      prefix = "g";
      prefixTimer = setTimeout(forgetPrefix, SEQUENCE_MS);
    }
  });
}

function forgetPrefix() {
  clearTimeout(prefixTimer);
  prefix = "";
}

const TYPED_INTO =
  "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, audio, [contenteditable]";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches(TYPED_INTO);
}

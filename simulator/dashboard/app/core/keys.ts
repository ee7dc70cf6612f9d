import { useEffect, useRef } from "preact/hooks";

type Bindings = Record<string, () => unknown>;

const SEQUENCE_MS = 1_200;
const REPEATABLE = /^(?:j|k|Arrow\w+)$/;
const layers: { current: Bindings }[] = [];
let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

/**
 * Shortcuts while the component is shown: `{ r: resend, "g e": goToEndpoints, "mod k": find }`. Later components come first. They rest
 * while one types, and while a dialog is open.
 */
export function useKeys(bindings: Bindings): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    layers.unshift(latest);
    return () => void layers.splice(layers.indexOf(latest), 1);
  }, []);
}

/** Begins to listen. */
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
    const action = layers.map((layer) => layer.current[combination]).find((found) => found !== undefined);
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

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isTextInput =
    target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type);
  return isTextInput || target.isContentEditable || /^(?:TEXTAREA|SELECT|AUDIO)$/.test(target.tagName);
}

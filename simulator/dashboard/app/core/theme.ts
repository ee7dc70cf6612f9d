import { useState } from "preact/hooks";

const ORDER = ["auto", "light", "dark"] as const;

export type Theme = (typeof ORDER)[number];

/** The chosen theme, and the function that goes on to the next of auto, light and dark. */
export function useTheme() {
  const [theme, setTheme] = useState(chosen);
  function choose(next: Theme) {
    if (next === "auto") {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem("theme");
    } else {
      document.documentElement.dataset["theme"] = next;
      localStorage.setItem("theme", next);
    }
    setTheme(next);
  }
  return { theme, toggle: () => choose(ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? "auto") };
}

function chosen(): Theme {
  return ORDER.find((theme) => theme === document.documentElement.dataset["theme"]) ?? "auto";
}

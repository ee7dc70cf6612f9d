import { useEffect, useRef } from "preact/hooks";
import { control } from "./api.ts";
import { useKeys } from "./keys.ts";
import { clockFrom, eventTypes } from "./live.ts";
import { PLACES } from "./places.ts";
import { listPath, navigate } from "./route.ts";
import { attempt } from "./toasts.ts";
import type { IconName } from "../components/icon.tsx";

/** What can be chosen in the palette: its words, others that one may think of first, and what it does. */
export type Action = {
  id?: string;
  words: string;
  also?: string | undefined;
  note?: string;
  icon: IconName;
  run: () => unknown;
};

/** What can be done with what is open, by the components that show it. */
const opened: { current: Action[] }[] = [];

/** Offers these in the palette while the component is shown, and by their keys. */
export function useActions(actions: (Action & { key: string })[]): void {
  useKeys(Object.fromEntries(actions.map(({ key, run }) => [key, run])));
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    opened.unshift(latest);
    return () => void opened.splice(opened.indexOf(latest), 1);
  }, []);
}

export type PaletteTools = { toggleTheme: () => void; openHelp: () => void };

/** Everything that can be done from anywhere: words, icon, and what it does. */
export function allActions({ toggleTheme, openHelp }: PaletteTools): Action[] {
  return [
    ...opened.flatMap(({ current }) => current),
    ...PLACES.map(({ path, words, also, icon }) => ({
      words: `Go to ${words}`,
      also,
      icon,
      run: () => navigate(path === "/" ? listPath() : path),
    })),
    { words: "Show what is not right", icon: "cross", run: () => navigate("/?verdict=not") },
    {
      words: "Show what gave up",
      also: "dead failed still lost",
      icon: "flag",
      run: () => navigate("/?state=lost"),
    },
    {
      words: "Show what timed out",
      also: "slow timeout",
      icon: "clock",
      run: () => navigate("/?q=status:timeout"),
    },
    ...eventTypes().map((type): Action => ({
      words: `Trigger ${type}`,
      icon: "trigger",
      run: () => trigger(type),
    })),
    { words: "Register an endpoint", icon: "plus", run: () => navigate("/endpoints?new") },
    {
      words: "Recover what was lost (resend all that gave up)",
      icon: "resend",
      run: () => navigate("/?recover"),
    },
    { words: "Step to the next attempt", icon: "next", run: () => advance({ until: "next" }) },
    { words: "Advance one minute", icon: "clock", run: () => advance({ seconds: 60 }) },
    { words: "Advance one hour", icon: "clock", run: () => advance({ seconds: 3_600 }) },
    { words: "Advance until nothing waits", icon: "end", run: () => advance({ until: "idle" }) },
    { words: "Change the theme", also: "dark light settings", icon: "sun", run: toggleTheme },
    { words: "Keyboard shortcuts", icon: "keyboard", run: openHelp },
    { words: "API docs", icon: "book", run: () => navigate("/docs") },
  ];
}

async function trigger(type: string): Promise<void> {
  const sent = await attempt(() => control.post("/events", { type }));
  if (sent === undefined) return;
  const [delivery] = sent.deliveries;
  navigate(delivery === undefined ? `/events/${sent.events[0]?.id ?? ""}` : `/deliveries/${delivery.id}`);
}

async function advance(body: object): Promise<void> {
  await attempt(() => clockFrom(control.post("/clock/advance", body)));
}

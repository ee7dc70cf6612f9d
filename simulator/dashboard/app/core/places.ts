import type { IconName } from "../components/icon.tsx";

type Place = { path: string; words: string; shortWords?: string; icon: IconName; key: string };

/** The pages, in their order: where, in which words, fewer words where there is little room, icon, key after `g`. */
export const PLACES: Place[] = [
  { path: "/", words: "Live", icon: "live", key: "l" },
  { path: "/endpoints", words: "Endpoints", icon: "endpoints", key: "e" },
  { path: "/trigger", words: "Trigger", icon: "trigger", key: "t" },
  { path: "/world", words: "World", icon: "world", key: "w" },
  { path: "/console", words: "API console", shortWords: "API", icon: "console", key: "a" },
  { path: "/readings", words: "Open questions", shortWords: "Open", icon: "readings", key: "r" },
  { path: "/verify", words: "Verify", icon: "verify", key: "v" },
];

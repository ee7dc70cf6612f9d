import type { IconName } from "../components/icon.tsx";

type Place = {
  path: string;
  words: string;
  /** Where there is little room. */
  shortWords?: string;
  /** What else one may call it. */
  also?: string | undefined;
  icon: IconName;
  /** After `g`. */
  key: string;
};

/** The pages, in their order. */
export const PLACES: Place[] = [
  { path: "/", words: "Live", icon: "live", key: "l" },
  { path: "/endpoints", words: "Endpoints", also: "receivers rotate secret", icon: "endpoints", key: "e" },
  { path: "/trigger", words: "Trigger", also: "send faults traffic slow reset", icon: "trigger", key: "t" },
  { path: "/world", words: "World", icon: "world", key: "w" },
  { path: "/console", words: "API console", shortWords: "API", icon: "console", key: "a" },
  {
    path: "/readings",
    words: "Open questions",
    shortWords: "Open",
    also: "settings readings",
    icon: "readings",
    key: "r",
  },
  { path: "/verify", words: "Verify", also: "check test report", icon: "verify", key: "v" },
];

import { createStore } from "./toasts.ts";
import type { IconName } from "../components/button.tsx";

const ROOT = "/dashboard";
let list = "/";

export type Route = { path: string; query: URLSearchParams };

/** The address inside the dashboard: `/deliveries/dlv_1` and its query. */
export function currentRoute(): Route {
  const path = location.pathname.slice(ROOT.length).replace(/\/+$/, "") || "/";
  return { path, query: new URLSearchParams(location.search) };
}

const route = createStore(currentRoute());

/** The route, and a new render whenever it changes. */
export const useRoute = route.use;

/** The path of the list with its last filters, the target of every "back". */
export function listPath(): string {
  return list;
}

export function rememberList(path: string): void {
  list = path;
}

/** Goes to a page of the dashboard; with `replace`, without an entry in the history. */
export function navigate(path: string, { replace = false } = {}): void {
  const url = hrefTo(path);
  if (replace) history.replaceState(null, "", url);
  else {
    history.pushState(null, "", url);
    document.querySelector("main")?.scrollTo(0, 0);
  }
  announce();
}

export function hrefTo(path: string): string {
  return path === "/" ? ROOT : path.startsWith("/?") ? `${ROOT}${path.slice(1)}` : `${ROOT}${path}`;
}

/** Lets plain links to our own pages change the page without loading it anew. */
export function followLinks(): void {
  addEventListener("popstate", announce);
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.target !== "" || event.defaultPrevented) return;
    const url = new URL(link.href);
    const isOurs = url.pathname === ROOT || url.pathname.startsWith(`${ROOT}/`);
    if (url.origin !== location.origin || !isOurs) return;
    // The browser scrolls to a part of the open page itself.
    const isHere = url.pathname === location.pathname && url.search === location.search;
    if (isHere && url.hash !== "") return;
    event.preventDefault();
    navigate(url.pathname.slice(ROOT.length) + url.search + url.hash || "/");
  });
}

function announce(): void {
  route.set(currentRoute());
}

type Place = {
  path: string;
  words: string;
  /** Other words that find it. */
  also?: string | undefined;
  icon: IconName;
  /** The key that goes there after `g`. */
  key: string;
};

/** The pages, in their order. */
export const PLACES: Place[] = [
  { path: "/", words: "Live", icon: "live", key: "l" },
  { path: "/endpoints", words: "Endpoints", also: "receivers rotate secret", icon: "endpoints", key: "e" },
  { path: "/trigger", words: "Trigger", also: "send faults traffic slow reset", icon: "trigger", key: "t" },
  { path: "/world", words: "World", icon: "world", key: "w" },
  { path: "/readings", words: "Open questions", also: "settings readings", icon: "readings", key: "r" },
  { path: "/verify", words: "Verify", also: "check test report", icon: "verify", key: "v" },
];

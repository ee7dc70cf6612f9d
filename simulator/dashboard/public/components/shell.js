import { useState } from "preact/hooks";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { hrefTo, navigate } from "../core/route.js";
import { useTheme } from "../core/theme.js";
import { ClockBar } from "./clock-bar.js";
import { Help } from "./help.js";
import { Icon, Mark } from "./icon.js";
import { Toasts } from "./toasts.js";

/** The places, in their order: path, words, words where there is little room, icon, key after `g`. */
export const PLACES = [
  ["/", "Live", "Live", "live", "l"],
  ["/endpoints", "Endpoints", "Endpoints", "endpoints", "e"],
  ["/trigger", "Trigger", "Trigger", "trigger", "t"],
  ["/world", "World", "World", "world", "w"],
  ["/console", "API console", "API", "console", "a"],
  ["/readings", "Readings", "Readings", "readings", "r"],
  ["/verify", "Verify", "Verify", "verify", "v"],
];

const CONNECTION_WORDS = { connecting: "Connecting…", open: "Live", lost: "Reconnecting…" };
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

/** What is around every page: where one can go, the clock, the connection. */
export function Shell({ path, children }) {
  const { connection, clock, problem, endpoints } = useLive();
  const { theme, toggle } = useTheme();
  const [isHelpOpen, setHelpOpen] = useState(false);
  useKeys({
    "?": () => setHelpOpen(true),
    d: toggle,
    ...Object.fromEntries(PLACES.map(([to, , , , key]) => [`g ${key}`, () => navigate(to)])),
  });
  const flagged = [...(endpoints?.values() ?? [])].filter((endpoint) => endpoint.flagged).length;
  const badges = {
    "/": clock?.deliveries.attempting > 0 && [clock.deliveries.attempting, "wait", "deliveries under way"],
    "/endpoints": flagged > 0 && [flagged, "bad", "endpoints failing"],
  };

  return html`<div class="shell">
    <a class="skip-link" href="#main" onClick=${skipToMain}>Skip to the page</a>
    <header class="side">
      <a class="brand" href=${hrefTo("/")}
        ><${Mark} /><span>Voice agent<br /><b>Simulator</b></span></a
      >
      <nav aria-label="Pages">
        ${PLACES.map(
          ([to, words, shortWords, icon]) =>
            html`<a key=${to} href=${hrefTo(to)} aria-current=${isWithin(path, to) ? "page" : undefined}>
              <${Icon} name=${icon} /><span class="wide-words">${words}</span
              ><span class="short-words" aria-hidden="true">${shortWords}</span
              ><${Badge} badge=${badges[to]} />
            </a>`,
        )}
      </nav>
      <div class="side-foot">
        <a href="/docs" class="quiet-link"><${Icon} name="book" size=${16} />API docs</a>
        <button type="button" class="quiet-link" onClick=${() => setHelpOpen(true)}>
          <${Icon} name="keyboard" size=${16} />Shortcuts<kbd>?</kbd>
        </button>
        <button type="button" class="quiet-link" onClick=${toggle} title="Theme (d)">
          <${Icon} name=${THEME_ICONS[theme]} size=${16} />Theme: ${theme}
        </button>
      </div>
    </header>
    <div class="top">
      <${ClockBar} />
      <span class=${`connection ${connection}`} role="status"
        ><span class="dot" aria-hidden="true"></span>${CONNECTION_WORDS[connection]}</span
      >
      <span class="top-tools">
        <button type="button" class="icon-button" aria-label=${`Theme: ${theme}`} onClick=${toggle}>
          <${Icon} name=${THEME_ICONS[theme]} />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Keyboard shortcuts"
          onClick=${() => setHelpOpen(true)}
        >
          <${Icon} name="keyboard" />
        </button>
      </span>
    </div>
    <main id="main" tabindex="-1">
      ${problem !== undefined && connection === "open" && html`<div class="notice bad" role="alert"><p>${problem}</p></div>`}
      ${children}
    </main>
    <${Toasts} />
    ${isHelpOpen && html`<${Help} onClose=${() => setHelpOpen(false)} />`}
  </div>`;
}

function Badge({ badge }) {
  if (!badge) return null;
  const [count, tone, words] = badge;
  return html`<span class=${`badge ${tone}`} title=${`${count} ${words}`}
    >${count > 999 ? "999+" : count}<span class="visually-hidden"> ${words}</span></span
  >`;
}

function isWithin(path, place) {
  if (place === "/") return path === "/" || path.startsWith("/deliveries") || path.startsWith("/events");
  return path === place || path.startsWith(`${place}/`);
}

function skipToMain(event) {
  event.preventDefault();
  document.querySelector("#main").focus();
}

import { useState } from "preact/hooks";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { PLACES } from "../core/places.js";
import { hrefTo, listPath, navigate } from "../core/route.js";
import { useTheme } from "../core/theme.js";
import { ClockBar } from "./clock-bar.js";
import { Help } from "./help.js";
import { Icon, Mark } from "./icon.js";
import { Palette } from "./palette.js";
import { SecretOnce } from "./secret-once.js";
import { TimeStrip } from "./time-strip.js";
import { Toasts } from "./toasts.js";

const CONNECTION_WORDS = { connecting: "Connecting…", open: "Live", lost: "Reconnecting…" };
const MOD = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl ";
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

/** What is around every page: where one can go, the clock, the connection. A full page uses all of the room itself. */
export function Shell({ path, isFull = false, children }) {
  const { connection, clock, problem, endpoints } = useLive();
  const { theme, toggle } = useTheme();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useKeys({
    "?": () => setHelpOpen(true),
    d: toggle,
    "mod k": () => setPaletteOpen(true),
    "g d": () => navigate("/docs"),
    ...Object.fromEntries(PLACES.map(({ path: to, key }) => [`g ${key}`, () => navigate(placePath(to))])),
  });
  const flagged = [...(endpoints?.values() ?? [])].filter((endpoint) => endpoint.flagged).length;
  const badges = {
    "/": clock?.deliveries.attempting > 0 && [clock.deliveries.attempting, "wait", "deliveries in progress"],
    "/endpoints": flagged > 0 && [flagged, "bad", "endpoints failing"],
  };

  return html`<div class="shell">
    <a class="skip-link" href="#main" onClick=${skipToMain}>Skip to the page</a>
    <header class="side">
      <a class="brand" href=${hrefTo("/")}><${Mark} /><span>Simulator</span></a>
      <nav aria-label="Pages">
        ${PLACES.map(
          ({ path: to, words, shortWords = words, icon }) =>
            html`<a
              key=${to}
              href=${hrefTo(placePath(to))}
              title=${words}
              aria-current=${isWithin(path, to) ? "page" : undefined}
            >
              <${Icon} name=${icon} size=${17} /><span class="wide-words">${words}</span
              ><span class="short-words" aria-hidden="true">${shortWords}</span
              ><${Badge} badge=${badges[to]} />
            </a>`,
        )}
      </nav>
      <div class="side-foot">
        <a
          href=${hrefTo("/docs")}
          class="quiet-link"
          title="API docs"
          aria-current=${path === "/docs" ? "page" : undefined}
          ><${Icon} name="book" size=${16} /><span class="words">API docs</span></a
        >
        <button type="button" class="quiet-link" title="Shortcuts (?)" onClick=${() => setHelpOpen(true)}>
          <${Icon} name="keyboard" size=${16} /><span class="words">Shortcuts</span><kbd>?</kbd>
        </button>
        <button type="button" class="quiet-link" onClick=${toggle} title="Theme (d)">
          <${Icon} name=${THEME_ICONS[theme]} size=${16} /><span class="words">Theme: ${theme}</span>
        </button>
      </div>
    </header>
    <div class="top">
      <${ClockBar} />
      <div class="top-tools">
        <button type="button" class="palette-button" onClick=${() => setPaletteOpen(true)}>
          <${Icon} name="search" size=${15} /><span>Go to, or do…</span><kbd>${MOD}K</kbd>
        </button>
        <span class=${`connection ${connection}`} role="status"
          ><span class="dot" aria-hidden="true"></span>${CONNECTION_WORDS[connection]}</span
        >
      </div>
    </div>
    <${TimeStrip} />
    <main id="main" class=${isFull ? "full" : ""} tabindex="-1">
      ${problem !== undefined && connection === "open" && html`<div class="notice bad" role="alert"><p>${problem}</p></div>`}
      ${isFull ? children : html`<div class="page">${children}</div>`}
    </main>
    <${Toasts} />
    <${SecretOnce} />
    ${isPaletteOpen && html`<${Palette} onClose=${() => setPaletteOpen(false)} toggleTheme=${toggle} openHelp=${() => setHelpOpen(true)} />`}
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

/** The list is left as it was looked at. */
function placePath(place) {
  return place === "/" ? listPath() : place;
}

function isWithin(path, place) {
  if (place === "/") return path === "/" || path.startsWith("/deliveries") || path.startsWith("/events");
  return path === place || path.startsWith(`${place}/`);
}

function skipToMain(event) {
  event.preventDefault();
  document.querySelector("#main").focus();
}

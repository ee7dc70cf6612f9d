import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "../core/keys.ts";
import { useLive } from "../core/live.ts";
import { PLACES } from "../core/places.ts";
import { hrefTo, listPath, navigate } from "../core/route.ts";
import { type Theme, useTheme } from "../core/theme.ts";
import { ClockBar } from "./clock-bar.tsx";
import { Dialog } from "./dialog.tsx";
import { Help } from "./help.tsx";
import { Icon, type IconName, Mark } from "./icon.tsx";
import { Palette } from "./palette.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { TimeStrip } from "./time-strip.tsx";
import { Toasts } from "./toasts.tsx";

const CONNECTION_WORDS = { connecting: "Connecting…", open: "Live", slow: "Waiting…", lost: "Reconnecting…" };
const MOD = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl ";
type Counted = [count: number, tone: string, words: string];

const THEME_ICONS: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

type ShellProps = { path: string; isFull?: boolean; children: ComponentChildren };

/** What is around every page: where one can go, the clock, the connection. A full page uses all of the room itself. */
export function Shell({ path, isFull = false, children }: ShellProps) {
  const { connection, isSlow, clock, problem, endpoints } = useLive();
  const state = connection === "open" && isSlow ? "slow" : connection;
  const { theme, toggle } = useTheme();
  const [opened, open] = useState<"help" | "more" | "palette">();
  const close = () => open(undefined);
  useKeys({
    "?": () => open("help"),
    d: toggle,
    "mod k": () => open("palette"),
    "g d": () => navigate("/docs"),
    ...Object.fromEntries(PLACES.map(({ path: to, key }) => [`g ${key}`, () => navigate(placePath(to))])),
  });
  const flagged = [...(endpoints?.values() ?? [])].filter((endpoint) => endpoint.flagged).length;
  const badges: Record<string, Counted> = {
    "/": [clock?.deliveries.attempting ?? 0, "wait", "deliveries in progress"],
    "/endpoints": [flagged, "bad", "endpoints failing"],
  };

  const foot = (
    <>
      <button type="button" class="side-link flex phone-only" onClick={() => open("palette")}>
        <Icon name="search" size={16} />
        <span class="words">Go to, or do…</span>
      </button>
      <a
        href={hrefTo("/docs")}
        class="side-link flex"
        title="API docs"
        aria-current={path === "/docs" ? "page" : undefined}
      >
        <Icon name="book" size={16} />
        <span class="words">API docs</span>
      </a>
      <button type="button" class="side-link flex" title="Shortcuts (?)" onClick={() => open("help")}>
        <Icon name="keyboard" size={16} />
        <span class="words">Shortcuts</span>
        <kbd>?</kbd>
      </button>
      <button type="button" class="side-link flex" onClick={toggle} title="Theme (d)">
        <Icon name={THEME_ICONS[theme]} size={16} />
        <span class="words">Theme: {theme}</span>
      </button>
    </>
  );
  return (
    <div class="shell">
      <a class="skip-link" href="#main" onClick={skipToMain}>
        Skip to the page
      </a>
      <header class="side">
        <a class="brand flex" href={hrefTo("/")}>
          <Mark />
          <span>Simulator</span>
        </a>
        <nav aria-label="Pages">
          {PLACES.map(({ path: to, words, shortWords = words, icon }) => (
            <a
              key={to}
              href={hrefTo(placePath(to))}
              class="side-link flex"
              title={words}
              aria-current={isWithin(path, to) ? "page" : undefined}
            >
              <Icon name={icon} size={17} />
              <span class="words">{words}</span>
              <span class="short-words" aria-hidden="true">
                {shortWords}
              </span>
              <Badge badge={badges[to]} />
            </a>
          ))}
        </nav>
        <div class="side-foot">{foot}</div>
      </header>
      <div class="top flex">
        <ClockBar />
        <div class="top-tools flex">
          <button type="button" class="palette-button well flex" onClick={() => open("palette")}>
            <Icon name="search" size={15} />
            <span>Go to, or do…</span>
            <kbd>{MOD}K</kbd>
          </button>
          <button
            type="button"
            class="icon-button top-more"
            aria-label="More: go to, docs, shortcuts, theme"
            onClick={() => open("more")}
          >
            <Icon name="more" size={17} />
          </button>
          <span class={`connection inline nowrap small muted ${state}`} role="status">
            <span class="dot disc" aria-hidden="true" />
            {CONNECTION_WORDS[state]}
          </span>
        </div>
      </div>
      <TimeStrip />
      <main id="main" class={isFull ? "full" : ""} tabindex={-1}>
        {problem !== undefined && connection === "open" && (
          <div class="notice bad" role="alert">
            <p>{problem}</p>
          </div>
        )}
        {isFull ? children : <div class="page">{children}</div>}
      </main>
      <Toasts />
      <SecretOnce />
      {opened === "palette" && <Palette onClose={close} toggleTheme={toggle} openHelp={() => open("help")} />}
      {opened === "more" && (
        <Dialog title="More" onClose={close}>
          <div class="dialog-body stack" onClickCapture={close}>
            {foot}
          </div>
        </Dialog>
      )}
      {opened === "help" && <Help onClose={close} />}
    </div>
  );
}

function Badge({ badge }: { badge: Counted | undefined }) {
  if (badge === undefined || badge[0] === 0) return null;
  const [count, tone, words] = badge;
  return (
    <span class={`badge ${tone}`} title={`${count} ${words}`}>
      {count > 999 ? "999+" : count}
      <span class="visually-hidden"> {words}</span>
    </span>
  );
}

/** The list is left as it was looked at. */
function placePath(place: string): string {
  return place === "/" ? listPath() : place;
}

function isWithin(path: string, place: string): boolean {
  if (place === "/") return path === "/" || path.startsWith("/deliveries") || path.startsWith("/events");
  return path === place || path.startsWith(`${place}/`);
}

function skipToMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

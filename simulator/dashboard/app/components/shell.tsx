import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "../core/actions.ts";
import { slowRequests } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { hrefTo, listPath, navigate, PLACES } from "../core/route.ts";
import { dismiss, toasts } from "../core/toasts.ts";
import { Icon, IconButton, type IconName, Mark } from "./button.tsx";
import { ClockBar } from "./clock-bar.tsx";
import { AskedQuestion, Dialog } from "./dialog.tsx";
import { Problem } from "./page.tsx";
import { Help, Palette } from "./palette.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { TimeStrip } from "./time-strip.tsx";

const CONNECTION_WORDS = { connecting: "Connecting…", open: "Live", slow: "Waiting…", lost: "Reconnecting…" };
const MOD = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘" : "Ctrl ";
const THEME_ICONS: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

type ShellProps = { path: string; isFull?: boolean; children: ComponentChildren };
type LinkProps = {
  icon: IconName;
  words: string;
  href?: string;
  title?: string | undefined;
  kind?: string;
  isCurrent?: boolean;
  onClick?: () => void;
  children?: ComponentChildren;
};

/** The frame of every page: navigation, the clock, the connection. A full page uses all of the space. */
export function Shell({ path, isFull = false, children }: ShellProps) {
  const { connection, clock, problem, endpoints } = useLive();
  const isSlow = slowRequests.use().count > 0;
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
  const badges: Record<string, ComponentChildren> = {
    "/": <Badge count={clock?.deliveries.attempting} tone="wait" words="deliveries in progress" />,
    "/endpoints": <Badge count={flagged} tone="bad" words="endpoints failing" />,
  };

  const foot = (
    <>
      <SideLink icon="search" words="Go to, or do…" kind="phone-only" onClick={() => open("palette")} />
      <SideLink icon="book" words="API docs" href={hrefTo("/docs")} isCurrent={path === "/docs"} />
      <SideLink icon="keyboard" words="Shortcuts" title="Shortcuts (?)" onClick={() => open("help")}>
        <kbd>?</kbd>
      </SideLink>
      <SideLink icon={THEME_ICONS[theme]} words={`Theme: ${theme}`} title="Theme (d)" onClick={toggle} />
    </>
  );
  function skipToMain(event: Event) {
    event.preventDefault();
    document.querySelector<HTMLElement>(".windowed :is(input, a), #main:not(:has(.windowed))")?.focus();
  }
  return (
    <div class="shell">
      <a class="skip-link button accent" href="#main" onClick={skipToMain}>
        Skip to the page
      </a>
      <header class="side">
        <a class="brand flex" href={hrefTo("/")} tabindex={-1}>
          <Mark />
          <span>Simulator</span>
        </a>
        <nav aria-label="Pages">
          {PLACES.map(({ path: to, words, icon }) => (
            <SideLink {...{ icon, words }} href={hrefTo(placePath(to))} isCurrent={isWithin(path, to)}>
              <span class="short-words tiny" aria-hidden="true">
                {words.split(" ").at(-1)}
              </span>
              {badges[to]}
            </SideLink>
          ))}
        </nav>
        <div class="side-foot">{foot}</div>
      </header>
      <div class="top flex">
        <ClockBar />
        <div class="top-tools flex">
          <button class="palette-button well flex" onClick={() => open("palette")}>
            <Icon name="search" size={15} />
            <span>Go to, or do…</span>
            <kbd>{MOD}K</kbd>
          </button>
          <IconButton
            icon="more"
            size={17}
            kind="top-more"
            label="More: go to, docs, shortcuts, theme"
            onClick={() => open("more")}
          />
          <span class={`connection inline nowrap small muted ${state}`} role="status">
            <span class="dot disc" aria-hidden="true" />
            {CONNECTION_WORDS[state]}
          </span>
        </div>
      </div>
      <TimeStrip />
      <main id="main" class={isFull ? "full" : ""} tabindex={-1}>
        {problem !== undefined && connection === "open" && <Problem error={new Error(problem)} />}
        {isFull ? children : <div class="page stack">{children}</div>}
      </main>
      <Toasts />
      <SecretOnce />
      <AskedQuestion />
      {opened === "palette" && <Palette onClose={close} toggleTheme={toggle} openHelp={() => open("help")} />}
      {opened === "more" && (
        <Dialog title="More" onClose={close}>
          <div class="stack near" onClickCapture={close}>
            {foot}
          </div>
        </Dialog>
      )}
      {opened === "help" && <Help onClose={close} />}
    </div>
  );
}

function SideLink({ icon, words, kind = "", isCurrent = false, children, ...rest }: LinkProps) {
  const Tag = rest.href === undefined ? "button" : "a";
  const current = isCurrent ? "page" : undefined;
  return (
    <Tag title={words} {...rest} class={`side-link flex ${kind}`} aria-current={current}>
      <Icon name={icon} size={17} />
      <span class="words">{words}</span>
      {children}
    </Tag>
  );
}

function Badge({ count = 0, tone, words }: { count: number | undefined; tone: string; words: string }) {
  if (count === 0) return null;
  return (
    <span class={`badge chip ${tone}`} title={`${count} ${words}`}>
      {count > 999 ? "999+" : count}
      <span class="visually-hidden"> {words}</span>
    </span>
  );
}

/** Short messages, read out by screen readers too. */
function Toasts() {
  return (
    <div class="toasts stack near" role="status" aria-live="polite">
      {toasts.use().map(({ id, kind, text, link }) => (
        <div key={id} class={`toast flex ${kind}`}>
          <Icon name={kind === "ok" ? "check" : "cross"} />
          <span class="spacer foreign">{text}</span>
          {link && (
            <a class="nowrap" href={link.href}>
              {link.words}
            </a>
          )}
          <IconButton icon="cross" size={14} kind="small" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}

/** The way back to the list keeps its filters. */
function placePath(place: string): string {
  return place === "/" ? listPath() : place;
}

function isWithin(path: string, place: string): boolean {
  if (place === "/") return /^\/(?:deliveries|events|$)/.test(path);
  return path === place || path.startsWith(`${place}/`);
}

const ORDER = ["auto", "light", "dark"] as const;

export type Theme = (typeof ORDER)[number];

/** The selected theme, and a function that switches to the next of auto, light and dark. */
export function useTheme() {
  const [theme, setTheme] = useState<Theme>(
    ORDER.find((known) => known === document.documentElement.dataset["theme"]) ?? "auto",
  );
  function toggle() {
    const next = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? "auto";
    document.documentElement.dataset["theme"] = next;
    localStorage.setItem("theme", next);
    setTheme(next);
  }
  return { theme, toggle };
}

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { toast } from "../core/toasts.ts";

/** Line drawings on a grid of 24. */
const PATHS = {
  live: "M3 12h4l3-8 4 16 3-8h4",
  endpoints:
    "M10 14a4 4 0 0 1 0-5.7l3-3a4 4 0 0 1 5.7 5.7l-1.6 1.6M14 10a4 4 0 0 1 0 5.7l-3 3a4 4 0 0 1-5.7-5.7l1.6-1.6",
  trigger: "M13 2 4 14h7l-1 8 9-12h-7z",
  world: "M4 21V9l8-6 8 6v12zM9 21v-7h6v7",
  readings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  verify: "M12 3 5 6v5c0 4.5 3 8.5 7 10 4-1.5 7-5.5 7-10V6zM9 12l2 2 4-4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "m5 12 5 5 9-10",
  cross: "M6 6l12 12M18 6 6 18",
  flag: "M5 21V4h12l-2 4 2 4H5",
  resend: "M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5",
  next: "M5 5v14l10-7zM19 5v14",
  end: "m4 6 7 6-7 6zM11 6l7 6-7 6zM20 5v14",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3 2",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5",
  moon: "M20 14a8 8 0 0 1-10-10 8 8 0 1 0 10 10",
  auto: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 3v18M12 7h6M12 12h9M12 17h6",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M17 14h.01M7 14h6",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l4 4",
  pause: "M8 5v14M16 5v14",
  play: "M7 4v16l12-8z",
  plus: "M12 5v14M5 12h14",
  back: "m14 6-6 6 6 6",
  out: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9",
  book: "M5 4h13v16H6a2 2 0 0 1-2-2V5M8 8h6M8 12h6",
  inbox: "M4 13h4l2 3h4l2-3h4M4 13 7 5h10l3 8v6H4z",
  question: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18h.01",
  phone: "M5 4h4l2 5-2.5 1.5a11 11 0 0 0 5 5L15 13l5 2v4a2 2 0 0 1-2 2A16 16 0 0 1 3 6a2 2 0 0 1 2-2",
  transfer: "M5 10v4a3 3 0 0 0 3 3h11M15 13l4 4-4 4M19 7H9M13 3 9 7l4 4",
  voicemail:
    "M6.5 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M17.5 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M6.5 15.5h11",
  bag: "M5 8h14l1 12H4zM9 8V6a3 3 0 0 1 6 0v2",
  calendar: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  key: "M8 12a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 13l9-9M16 8l3 3",
};

export type IconName = keyof typeof PATHS;

/** A decoration: its meaning must also be written beside it. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the simulator. */
export function Mark() {
  return (
    <svg class="mark" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 13v6M12 9v14M16 12v8M20 7v18M24 13v6" />
    </svg>
  );
}

const CONFIRMED_MS = 1_500;

type ButtonProps = {
  icon?: IconName | undefined;
  kind?: string;
  busy?: boolean;
  href?: string;
  type?: "submit";
  form?: string;
  title?: string | undefined;
  disabled?: boolean;
  autofocus?: boolean;
  target?: string;
  rel?: string;
  download?: boolean;
  tabindex?: number;
  "aria-label"?: string;
  onClick?: () => unknown;
  words?: string | undefined;
  children?: ComponentChildren;
};

/** A button or, with `href`, a link; `kind` is any of accent, small, quiet, danger, danger-words. */
export function Button({ icon, kind = "", busy = false, href, ...props }: ButtonProps) {
  const { words, children = words, ...rest } = props;
  const name = `button inline ${kind}${busy ? " busy" : ""}`;
  const content = [icon && <Icon name={icon} size={kind.includes("small") ? 14 : 15} />, children];
  if (href !== undefined) return <a class={name} href={href} {...rest} children={content} />;
  return <button type="button" class={name} aria-busy={busy || undefined} {...rest} children={content} />;
}

type IconButtonProps = { icon: IconName; label: string; size?: number; title?: string; kind?: string } & {
  "aria-pressed"?: boolean;
  "aria-expanded"?: boolean;
  onClick: () => unknown;
};

/** A button with only an icon; `label` says what it does. */
export function IconButton({ icon, label, size = 15, kind = "", ...rest }: IconButtonProps) {
  return (
    <button type="button" class={`icon-button ${kind}`} aria-label={label} {...rest}>
      <Icon name={icon} size={size} />
    </button>
  );
}

/** Copies `text` and confirms it; a quiet one is only an icon. */
export function CopyButton({ text, label, quiet = false }: { text: string; label: string; quiet?: boolean }) {
  const [isCopied, setCopied] = useState(false);
  async function copy() {
    if (!(await copyText(text))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), CONFIRMED_MS);
  }
  const icon = isCopied ? "check" : "copy";
  if (quiet) return <IconButton icon={icon} kind="small" label={label} title={label} onClick={copy} />;
  return (
    <Button icon={icon} kind="small" onClick={copy}>
      <span aria-live="polite">{isCopied ? "Copied" : label}</span>
    </Button>
  );
}

/** Copies `text` to the clipboard and answers whether it is there; where the browser refuses, a message says so. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast("bad", "The browser did not let this page copy. Select the text and copy it by hand.");
    return false;
  }
}

type CopyableProps = { text: string; shown?: string; label?: string; kind?: string };

/** An id or address in full, with a button to copy it. */
export function Copyable({ text, shown = text, label = `Copy ${text}`, kind = "" }: CopyableProps) {
  return (
    <span class={`copyable inline ${kind}`}>
      <code class="foreign" title={text}>
        {shown}
      </code>
      <CopyButton quiet text={text} label={label} />
    </span>
  );
}

/** A value, its text, a title, and its tone. */
export type Choice<V extends string = string> = readonly [
  V,
  ComponentChildren,
  title?: string,
  tone?: string,
];

type SegmentsProps<Value extends string> = {
  label: string;
  value: Value;
  options: readonly Choice<Value>[];
  onChange: (value: Value) => unknown;
  disabled?: boolean;
  className?: string;
};

const ARROWS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Arrow keys go from one button of a group to the next, so that Tab passes the group in one step. */
export function roam(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = ARROWS[event.key];
  if (step === undefined || !(event.target instanceof HTMLButtonElement)) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>("button:enabled")];
  buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

/** A few choices side by side, of which one is on, or none. */
export function Segments<Value extends string>({ label, value, options, ...rest }: SegmentsProps<Value>) {
  const { onChange, disabled, className = "segments" } = rest;
  const first = options.some(([choice]) => choice === value) ? value : options[0]?.[0];
  return (
    <div class={className} role="group" aria-label={label} onKeyDown={roam}>
      {options.map(([choice, shown, title, tone = ""]) => (
        <button
          type="button"
          key={choice}
          class={`choice edge ${tone}`}
          {...{ title, disabled }}
          tabindex={choice === first ? 0 : -1}
          aria-pressed={choice === value}
          onClick={() => onChange(choice)}
        >
          {shown}
        </button>
      ))}
    </div>
  );
}

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { toast } from "../core/toasts.ts";
import { Icon, type IconName } from "./icon.tsx";

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
  "aria-label"?: string;
  onClick?: () => unknown;
  words?: string | undefined;
  children?: ComponentChildren;
};

/** What can be pressed or, with `href`, leads elsewhere: its words, or what else is in it; `kind` is any of accent, small, quiet, danger, danger-words. */
export function Button({ icon, kind = "", busy = false, href, ...props }: ButtonProps) {
  const { words, children = words, ...rest } = props;
  const name = `button inline ${kind}${busy ? " busy" : ""}`;
  const content = [icon && <Icon name={icon} size={kind.includes("small") ? 14 : 15} />, children];
  if (href !== undefined) return <a class={name} href={href} {...rest} children={content} />;
  return <button type="button" class={name} aria-busy={busy || undefined} {...rest} children={content} />;
}

type IconButtonProps = {
  icon: IconName;
  label: string;
  title?: string;
  size?: number;
  kind?: string;
  disabled?: boolean;
  "aria-pressed"?: boolean;
  "aria-expanded"?: boolean;
  onClick: () => unknown;
};

/** A picture alone, to be pressed; `label` says what it does. */
export function IconButton({ icon, label, size = 15, kind = "", ...rest }: IconButtonProps) {
  return (
    <button type="button" class={`icon-button ${kind}`} aria-label={label} {...rest}>
      <Icon name={icon} size={size} />
    </button>
  );
}

type CopyButtonProps = {
  text: string | (() => string | Promise<string | undefined>);
  label?: string;
  quiet?: boolean;
  small?: boolean;
  title?: string;
};

/** Copies `text`, or what it answers when called, and says so in its place, without changing its size. */
export function CopyButton({ text, label = "Copy", quiet = false, small = false, title }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  async function copy() {
    const wanted = typeof text === "function" ? await text() : text;
    if (wanted === undefined || !(await copyText(wanted))) return;
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), CONFIRMED_MS);
  }
  const icon = isCopied ? "check" : "copy";
  if (quiet) return <IconButton icon={icon} kind="small" label={label} title={label} onClick={copy} />;
  return (
    <Button kind={small ? "small" : ""} title={title} onClick={copy}>
      <Icon name={icon} size={15} />
      <span class="swap">
        <span class={isCopied ? "gone" : ""}>{label}</span>
        <span class={isCopied ? "" : "gone"} aria-live="polite">
          {isCopied ? "Copied" : ""}
        </span>
      </span>
    </Button>
  );
}

/** Whether `text` is on the clipboard now; where the browser refuses, says so. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast("bad", "The browser did not let this page copy. Select the text and copy it by hand.");
    return false;
  }
}

type CopyableProps = { text: string; shown?: string; label?: string };

/** An id or address in full, with a button to copy it. */
export function Copyable({ text, shown = text, label = `Copy ${text}` }: CopyableProps) {
  return (
    <span class="copyable inline">
      <code class="foreign" title={text}>
        {shown}
      </code>
      <CopyButton quiet text={text} label={label} />
    </span>
  );
}

/** A value, the words for it, and a title. */
export type Choice<Value extends string = string> = readonly [
  value: Value,
  words: string,
  title?: string | undefined,
];

type SegmentsProps<Value extends string> = {
  label: string;
  value: Value;
  options: readonly Choice<Value>[];
  onChange: (value: Value) => unknown;
  disabled?: boolean;
};

/** A few choices side by side, of which one is on. */
export function Segments<Value extends string>({ label, value, options, ...rest }: SegmentsProps<Value>) {
  const { onChange, disabled } = rest;
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([choice, words, title]) => (
        <button
          type="button"
          key={choice}
          class="choice"
          title={title}
          disabled={disabled}
          aria-pressed={choice === value}
          onClick={() => onChange(choice)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

import { useRef, useState } from "preact/hooks";
import { toast } from "../core/toasts.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

const CONFIRMED_MS = 1_500;

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
  const shown = <Icon name={isCopied ? "check" : "copy"} size={15} />;
  if (quiet)
    return (
      <button type="button" class="icon-button small" title={label} aria-label={label} onClick={copy}>
        {shown}
      </button>
    );
  return (
    <Button kind={small ? "small" : ""} title={title} onClick={copy}>
      {shown}
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

/** An id or address in full, with a button to copy it. */
export function Copyable({ text, shown = text, label }: { text: string; shown?: string; label?: string }) {
  return (
    <span class="copyable inline">
      <code class="foreign" title={text}>
        {shown}
      </code>
      <CopyButton quiet text={text} label={label ?? `Copy ${text}`} />
    </span>
  );
}

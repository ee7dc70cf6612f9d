import { dismiss, toasts } from "../core/toasts.ts";
import { Icon } from "./icon.tsx";

/** What is said in passing, also to screen readers. */
export function Toasts() {
  return (
    <div class="toasts stack" role="status" aria-live="polite">
      {toasts.use().map(({ id, kind, text, link }) => (
        <div key={id} class={`toast flex ${kind}`}>
          <Icon name={kind === "ok" ? "check" : "cross"} />
          <span class="foreign">{text}</span>
          {link && (
            <a class="nowrap" href={link.href}>
              {link.words}
            </a>
          )}
          <button type="button" class="icon-button small" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="cross" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

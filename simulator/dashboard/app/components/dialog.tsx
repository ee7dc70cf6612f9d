import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

type DialogProps = { title: string; onClose?: () => void; children: ComponentChildren; wide?: boolean };

/** A modal dialog. Escape and the cross close it; without `onClose` only what is in it does. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement | null>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    // A browser takes the first that can be pressed, which is the cross.
    if (dialog?.querySelector("[autofocus]") === null)
      dialog.querySelector<HTMLElement>(".dialog-body :is(input, select, textarea)")?.focus();
    return () => {
      ref.current = null;
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  function cancel(event: Event) {
    event.preventDefault();
    onClose?.();
  }
  // A browser closes on the second Escape whatever the page says to the first.
  function closed() {
    if (ref.current === null) return;
    if (onClose) onClose();
    else ref.current.showModal();
  }
  return (
    <dialog
      ref={ref}
      class={`box ${wide ? "wide" : ""}`}
      aria-labelledby={id}
      onCancel={cancel}
      onClose={closed}
    >
      <header class="dialog-head flex between">
        <h2 id={id}>{title}</h2>
        {onClose && (
          <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="cross" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}

type FormDialogProps = {
  title: string;
  action: string;
  icon?: IconName;
  disabled?: boolean;
  wide?: boolean;
  onSubmit: () => unknown;
  onClose: () => void;
  children: ComponentChildren;
};

/** A dialog to fill in: what is in it, and below it the button that does `action`. */
export function FormDialog({
  title,
  action,
  icon,
  disabled = false,
  wide = false,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  function submit(event: Event) {
    event.preventDefault();
    void onSubmit();
  }
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form onSubmit={submit}>
        <div class="dialog-body form stack">{children}</div>
        <footer class="dialog-foot flex">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="accent" icon={icon} disabled={disabled}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

type ConfirmProps = {
  title: string;
  action: string;
  keep?: string;
  tone?: "danger" | "accent";
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
};

/** Asks before something that cannot be undone; `keep` and `action` are the words of its two buttons. */
export function Confirm({
  title,
  action,
  keep = "Keep it",
  tone = "danger",
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body stack">{children}</div>
      <footer class="dialog-foot flex">
        <Button autofocus onClick={onClose}>
          {keep}
        </Button>
        <Button kind={tone} onClick={onConfirm}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}

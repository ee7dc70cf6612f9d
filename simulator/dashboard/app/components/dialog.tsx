import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { asError } from "../core/api.ts";
import { createStore } from "../core/toasts.ts";
import { Button, IconButton, type IconName } from "./button.tsx";
import { Problem } from "./page.tsx";

type DialogProps = {
  title: string;
  onClose?: () => void;
  children: ComponentChildren;
  foot?: ComponentChildren;
  name?: string;
};

/** A modal dialog. Escape and the cross close it; without `onClose` only its content can. */
export function Dialog({ title, onClose, children, foot, name = "" }: DialogProps) {
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
  // On the second Escape a browser closes it in any case.
  function closed() {
    if (ref.current === null) return;
    if (onClose) onClose();
    else ref.current.showModal();
  }
  return (
    <dialog ref={ref} class="box" aria-labelledby={id} onCancel={cancel} onClose={closed}>
      <header class="dialog-head flex between">
        <h2 id={id}>{title}</h2>
        {onClose && <IconButton icon="cross" size={18} label="Close" onClick={onClose} />}
      </header>
      <div class={`dialog-body stack ${name}`}>{children}</div>
      {foot && <footer class="dialog-foot flex">{foot}</footer>}
    </dialog>
  );
}

type FormDialogProps = {
  title: string;
  action: string;
  icon?: IconName;
  disabled?: boolean;
  onSubmit: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
};

/** A dialog with a form, and the button that runs `action`; errors appear above the form. */
export function FormDialog({ action, icon, disabled = false, onSubmit, children, ...rest }: FormDialogProps) {
  const id = useId();
  const [error, setError] = useState<Error>();
  async function submit(event: Event) {
    event.preventDefault();
    try {
      await onSubmit();
    } catch (problem) {
      setError(asError(problem));
    }
  }
  const foot = (
    <>
      <Button onClick={rest.onClose} words="Cancel" />
      <Button type="submit" form={id} kind="accent" icon={icon} disabled={disabled} words={action} />
    </>
  );
  return (
    <Dialog {...rest} foot={foot}>
      <form id={id} class="stack" onSubmit={submit}>
        {error && <Problem error={error} />}
        {children}
      </form>
    </Dialog>
  );
}

/** `isExpected`: the next Enter means yes. */
type Question = { title: string; action: string; text: string } & {
  keep?: string;
  tone?: "accent";
  isExpected?: boolean;
};

const question = createStore<(Question & { answer: (isMeant: boolean) => void }) | undefined>(undefined);

/** Asks for confirmation before an irreversible action; `keep` and `action` are the labels of the buttons. */
export function isMeant(asked: Question): Promise<boolean> {
  return new Promise((answer) => question.set({ ...asked, answer }));
}

/** The current question, on any page. */
export function AskedQuestion() {
  const asked = question.use();
  if (asked === undefined) return null;
  function answer(isMeant: boolean) {
    question.set(undefined);
    asked?.answer(isMeant);
  }
  const { title, action, keep = "Keep it", tone = "danger", text, isExpected = false } = asked;
  const foot = (
    <>
      <Button autofocus={!isExpected} onClick={() => answer(false)} words={keep} />
      <Button autofocus={isExpected} kind={tone} onClick={() => answer(true)} words={action} />
    </>
  );
  const body = <p class="foreign">{text}</p>;
  return <Dialog title={title} onClose={() => answer(false)} foot={foot} children={body} />;
}

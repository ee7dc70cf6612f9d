import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

type EmptyProps = { icon?: IconName; title: string; children?: ComponentChildren };

/** Where there is nothing: what that means, and the next step. */
export function Empty({ icon = "inbox", title, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon disc muted">
        <Icon name={icon} size={26} />
      </span>
      <h2>{title}</h2>
      <div class="empty-words stack muted">{children}</div>
    </div>
  );
}

/** What went wrong, in the words of the answer. */
export function Problem({ error, children }: { error: Error; children?: ComponentChildren }) {
  return (
    <div class="notice bad" role="alert">
      <p>{error.message}</p>
      {children}
    </div>
  );
}

/** What is asked for in each of its states: on its way, failed, or there. */
export function Loaded<Value>({
  from: { value, error },
  children,
}: {
  from: { value: Value | undefined; error: Error | undefined };
  children: (value: Value) => ComponentChildren;
}) {
  if (value !== undefined) return <>{children(value)}</>;
  return error === undefined ? <Loading /> : <Problem error={error} />;
}

/** Keeps the place of something that is on its way, and stays silent when it comes at once. */
export function Loading() {
  return (
    <div class="loading" aria-busy="true">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

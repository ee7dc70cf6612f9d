import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

type ButtonProps = {
  icon?: IconName | undefined;
  kind?: string;
  busy?: boolean;
  href?: string;
  type?: "submit";
  title?: string | undefined;
  disabled?: boolean;
  autofocus?: boolean;
  target?: string;
  rel?: string;
  download?: boolean;
  "aria-label"?: string;
  onClick?: () => unknown;
  children: ComponentChildren;
};

/** What can be pressed or, with `href`, leads elsewhere; `kind` is any of accent, small, quiet, danger, danger-words. */
export function Button({ icon, kind = "", busy = false, href, children, ...rest }: ButtonProps) {
  const content = (
    <>
      {icon && <Icon name={icon} size={kind.includes("small") ? 14 : 15} />}
      {children}
    </>
  );
  const name = `button inline ${kind}${busy ? " busy" : ""}`;
  if (href !== undefined)
    return (
      <a class={name} href={href} {...rest}>
        {content}
      </a>
    );
  return (
    <button type="button" class={name} aria-busy={busy || undefined} {...rest}>
      {content}
    </button>
  );
}

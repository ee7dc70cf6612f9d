import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import type { FieldDocs } from "../core/openapi.ts";
import { hrefTo, listPath } from "../core/route.ts";
import { messageOf } from "../core/toasts.ts";
import { Copyable, Icon, type IconName } from "./button.tsx";

type Heading = "h1" | "h2";

type PageHeadProps = {
  title: ComponentChildren;
  shortTitle?: string;
  lead?: ComponentChildren;
  as?: Heading;
  children?: ComponentChildren;
};

/** The head of every page: its title, a line about it, and its actions. */
export function PageHead({ title, shortTitle, lead, as, children }: PageHeadProps) {
  return (
    <div class="page-head flex wraps hangs between">
      <div class="page-title">
        <PageTitle title={title} shortTitle={shortTitle} as={as} />
        {lead && <p class="muted">{lead}</p>}
      </div>
      {children && <div class="actions flex wraps">{children}</div>}
    </div>
  );
}

type PageTitleProps = {
  title: ComponentChildren;
  shortTitle?: string | undefined;
  as?: Heading | undefined;
  className?: string;
  namesWindow?: boolean;
  takesFocus?: boolean;
};

/**
 * The title of a page: names the window, and takes the focus when the page is opened. Of two visible titles, only one does
 * so.
 */
export function PageTitle({ title, as: Tag = "h1", ...rest }: PageTitleProps) {
  const { className = "", namesWindow = true, takesFocus = true } = rest;
  const { shortTitle = typeof title === "string" ? title : "" } = rest;
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (namesWindow) document.title = `${shortTitle} · Voice agent simulator`;
  }, [shortTitle, namesWindow]);
  useEffect(() => {
    if (isFirstPage) isFirstPage = false;
    else if (takesFocus) ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <Tag ref={ref} tabindex={-1} class={className}>
      {title}
    </Tag>
  );
}

let isFirstPage = true;

type PanelProps = { title: string; aside?: ComponentChildren; children: ComponentChildren; kind?: string };

/** A titled box. */
export function Panel({ title, aside, children, kind = "" }: PanelProps) {
  return (
    <section class={`panel box stack near ${kind}`}>
      <header class="flex wraps between">
        <h2>{title}</h2>
        {aside && <div class="muted">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

type FactProps = { name: string; title?: string; children: ComponentChildren };
type CopyProps = { name: string; text: string; what: string; children?: ComponentChildren };

/** One of the facts in a `<dl class="facts">`. */
export function Fact({ name, title, children }: FactProps) {
  return (
    <div title={title}>
      <dt class="small faint">{name}</dt>
      <dd class="flex wraps foreign">{children}</dd>
    </div>
  );
}

/** A fact that can be copied; `what` names it on the button. */
export function CopyFact({ name, text, what, children }: CopyProps) {
  return (
    <Fact name={name}>
      <Copyable text={text} label={`Copy the ${what}`} /> {children}
    </Fact>
  );
}

type EmptyProps = { icon?: IconName; title: string; children?: ComponentChildren };

/** Replaces an empty list: what that means, and the next step. */
export function Empty({ icon = "inbox", title, children }: EmptyProps) {
  return (
    <div class="empty stack">
      <span class="empty-icon disc well muted">
        <Icon name={icon} size={26} />
      </span>
      <h2>{title}</h2>
      <div class="stack muted">{children}</div>
    </div>
  );
}

/** An error in the words of the answer; with a link back if it is the whole page. */
export function Problem({ error, isPage = false }: { error: Error; isPage?: boolean }) {
  return (
    <div class="notice bad" role="alert">
      <p>{error.message}</p>
      {isPage && (
        <p>
          <a href={hrefTo(listPath())}>Back to Live</a>
        </p>
      )}
    </div>
  );
}

/** A link to the page that this one belongs to. */
export function Crumb({ path, children }: { path: string; children: ComponentChildren }) {
  return (
    <p class="crumbs">
      <a class="inline muted" href={hrefTo(path)}>
        <Icon name="back" size={14} />
        {children}
      </a>
    </p>
  );
}

type LoadedProps<Value> = {
  from: { value: Value | undefined; error: Error | undefined };
  children: (value: Value) => ComponentChildren;
  title?: string;
};

/** Shows a loaded value in each of its states: loading, failed, or loaded; `title` heads a page that has nothing else yet. */
export function Loaded<Value>({ from: { value, error }, children, title }: LoadedProps<Value>) {
  if (value !== undefined) return <>{children(value)}</>;
  return (
    <>
      {title && <PageHead title={title} />}
      {error === undefined ? <Loading /> : <Problem error={error} isPage={title !== undefined} />}
    </>
  );
}

/** Placeholder while something loads; says nothing when it is loaded at once. */
export function Loading() {
  return (
    <div class="loading" aria-busy="true">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

/** Error boundary: a part that fails says so, and the rest of the page works. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const error: unknown = useErrorBoundary()[0];
  if (error === undefined) return <>{children}</>;
  return (
    <>
      <PageHead title="This page failed" />
      <Problem error={new Error(`It met something that it cannot show: ${messageOf(error)}.`)} isPage />
    </>
  );
}

type TableProps = { label: string; head?: string[]; rows: ComponentChildren[][]; className?: string };

/** Rows, each named by its first cell; `head` names the columns. */
export function Table({ label, head, rows, className = "" }: TableProps) {
  return (
    <table class={className} aria-label={label}>
      {head && (
        <thead>
          <tr>
            {head.map((words) => (
              <th scope="col" class="faint small" children={words} />
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(([first, ...others], index) => (
          <tr key={index}>
            <th scope="row" class="foreign">
              {first}
            </th>
            {others.map((cell) => (
              <td class="foreign">{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The fields of an object as a table: name, type, whether they are required, their meaning. */
export function Fields({ label, fields }: { label: string; fields: FieldDocs[] }) {
  const rows = fields.map(({ name, type, reference, isAlways, note }) => [
    <>
      <code>{name}</code>
      {!isAlways && <span class="faint">sometimes</span>}
    </>,
    reference === undefined ? <code>{type}</code> : <a href={`#${reference}`}>{type}</a>,
    <Marked text={note} />,
  ]);
  return <Table className="docs-table" label={label} head={["Field", "Type", "Meaning"]} rows={rows} />;
}

/** Anything else that has rows: `head` and `rows` are words, with code between backticks. */
export function DocsTable({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  const marked = rows.map((row) => row.map((words) => <Marked text={words} />));
  return <Table className="docs-table" label={label} head={head} rows={marked} />;
}

/** Words between backticks as code. */
export function Marked({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}

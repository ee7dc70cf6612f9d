import type { ComponentChildren } from "preact";
import type { FieldDocs } from "../core/openapi.ts";

type TableProps = { label: string; head?: string[]; rows: ComponentChildren[][]; className?: string };

/** Rows, each named by its first cell; `head` names the columns. */
export function Table({ label, head, rows, className = "" }: TableProps) {
  return (
    <table class={className} aria-label={label}>
      {head && (
        <thead>
          <tr>{head.map((words) => (words === "" ? <td /> : <th scope="col">{words}</th>))}</tr>
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

/** The fields of an object, in a table: name, type, whether they are always there, what they mean. */
export function Fields({ label, fields }: { label: string; fields: FieldDocs[] }) {
  const rows = fields.map(({ name, type, reference, isAlways, note }) => [
    <>
      <code>{name}</code>
      {!isAlways && <span class="faint">sometimes</span>}
    </>,
    reference === undefined ? <code>{type}</code> : <a href={`#${reference}`}>{type}</a>,
    <Marked text={note} />,
  ]);
  return (
    <div class="docs-table">
      <Table label={label} head={["Field", "Type", "Meaning"]} rows={rows} />
    </div>
  );
}

/** Anything else that has rows: `head` and `rows` are words, with code between backticks. */
export function DocsTable({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  const marked = rows.map((row) => row.map((words) => <Marked text={words} />));
  return (
    <div class="docs-table">
      <Table label={label} head={head} rows={marked} />
    </div>
  );
}

/** Words between backticks as code. */
export function Marked({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}

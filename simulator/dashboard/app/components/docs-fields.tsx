import type { FieldDocs } from "../core/openapi.ts";
import { Marked } from "./marked.tsx";
import { Table } from "./table.tsx";

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

import type { FieldDocs } from "../core/openapi.ts";
import { Marked } from "./marked.tsx";

/** The fields of an object, in a table: name, type, whether they are always there, what they mean. */
export function Fields({ label, fields }: { label: string; fields: FieldDocs[] }) {
  return (
    <div class="docs-table">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Type</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ name, type, reference, isAlways, note }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
                {!isAlways && <span class="faint">sometimes</span>}
              </th>
              <td>{reference === undefined ? <code>{type}</code> : <a href={`#${reference}`}>{type}</a>}</td>
              <td>
                <Marked text={note} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Anything else that has rows: `head` and `rows` are words, with code between backticks. */
export function DocsTable({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  return (
    <div class="docs-table">
      <table aria-label={label}>
        <thead>
          <tr>
            {head.map((words) => (
              <th key={words} scope="col">
                {words}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others]) => (
            <tr key={first}>
              <th scope="row">
                <Marked text={first ?? ""} />
              </th>
              {others.map((words) => (
                <td key={words}>
                  <Marked text={words} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

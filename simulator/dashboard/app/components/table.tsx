import type { ComponentChildren } from "preact";

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

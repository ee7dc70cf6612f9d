import { styleText, stripVTControlCharacters } from "node:util";

type Style = Parameters<typeof styleText>[0];

export type Output = ReturnType<typeof createOutput>;

/**
 * Where a command writes: results go to stdout, words about them to stderr. With `--json` stdout carries JSON alone.
 * Colours and redrawn progress only on a terminal, and never with NO_COLOR.
 */
export function createOutput(options: { json: boolean }) {
  const { stdout, stderr } = process;
  let isProgressShown = false;

  function clearProgress(): void {
    if (isProgressShown) stderr.write("\r\u001b[2K");
    isProgressShown = false;
  }

  return {
    json: options.json,
    /** A line of the result; nothing with `--json`. */
    line(text = ""): void {
      clearProgress();
      if (!options.json) stdout.write(`${text}\n`);
    },
    /** The result itself, for programs: one JSON value on one line. */
    value(value: unknown): void {
      clearProgress();
      if (options.json) stdout.write(`${JSON.stringify(value)}\n`);
    },
    /** What to do next, or what went on meanwhile; quiet with `--json`. */
    note(text: string): void {
      clearProgress();
      if (!options.json) stderr.write(`${text}\n`);
    },
    /** Redraws one line on a terminal; elsewhere nothing. */
    progress(text: string): void {
      if (!stderr.isTTY) return;
      stderr.write(`\r\u001b[2K${text}`);
      isProgressShown = true;
    },
    clearProgress,
    style: (style: Style, text: string): string => styleText(style, text, { stream: stdout }),
    /** Columns aligned by what is seen of them; the last one stays as long as it is. */
    table(rows: readonly (readonly string[])[], indent = ""): void {
      for (const line of alignColumns(rows)) this.line(indent + line);
    },
  };
}

/** Pads each column but the last to its widest cell, two spaces apart. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function padTo(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - widthOf(cell)));
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

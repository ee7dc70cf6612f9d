import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import stringWidth from "string-width";
import { printable, printableJson } from "../../shared/text.ts";

type Style = Parameters<typeof styleText>[0];

export type Output = ReturnType<typeof createOutput>;

/**
 * Where a command writes: results go to stdout, messages to stderr. With `--json` stdout has only JSON. Colours and redrawn
 * progress only on a terminal, and never with NO_COLOR. Each text is printed as one printable line, so that foreign text (a
 * receiver's answer) cannot control the terminal or a build server that reads the log.
 */
export function createOutput(options: { json?: boolean | undefined }) {
  const { stdout, stderr } = process;
  const isJson = options.json === true;
  let isProgressShown = false;

  function clearProgress(): void {
    if (isProgressShown) stderr.write("\r\u001b[2K");
    isProgressShown = false;
  }

  return {
    json: isJson,
    /** Prints a line of the result; nothing with `--json`. */
    line(text = ""): void {
      clearProgress();
      if (!isJson) stdout.write(`${shown(text)}\n`);
    },
    /** Prints a text that is already printable, with its styles, with or without `--json`. */
    document(text: string): void {
      clearProgress();
      stdout.write(pieces(text).join(""));
    },
    /** Prints the result for programs: one JSON value on one line; nothing without `--json`. */
    value(value: unknown): void {
      clearProgress();
      if (isJson) stdout.write(`${printableJson(JSON.stringify(value))}\n`);
    },
    /** Prints a JSON value as a result for people; nothing with `--json`. */
    structure(value: unknown): void {
      clearProgress();
      if (!isJson) stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
    },
    /** Prints a next step or a message: one line, with empty ones around it for line breaks at the ends of `text`; nothing with `--json`. */
    note(text: string): void {
      clearProgress();
      if (!isJson) stderr.write(`${noteLines(text).map(shown).join("\n")}\n`);
    },
    /** Redraws one line on a terminal; does nothing elsewhere. */
    progress(text: string): void {
      if (!stderr.isTTY) return;
      stderr.write(`\r\u001b[2K${shown(text)}`);
      isProgressShown = true;
    },
    clearProgress,
    /** Marks `text` with a style, which is applied when it is written. */
    style(style: Style, text: string): string {
      const [open = "", close = ""] = styleText(style, "\n", { stream: stdout }).split("\n");
      return open === "" ? text : mark(open) + text + mark(close);
    },
    table(rows: readonly (readonly string[])[], indent = ""): void {
      for (const line of alignColumns(rows)) this.line(indent + line);
    },
    list(titles: readonly string[], rows: readonly (readonly string[])[]): void {
      this.table([titles.map((title) => this.style("dim", title)), ...rows]);
    },
  };
}

/** A time for people, to the second; empty if there is none. */
export function timeText(iso: string | null): string {
  return iso === null ? "" : iso.slice(0, 19).replace("T", " ");
}

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
  const seen = pieces(cell).filter((_, index) => index % 2 === 0);
  return stringWidth(seen.map(printable).join(""));
}

/** A line break at an end is an empty line of ours; one inside is foreign text. */
function noteLines(text: string): string[] {
  const [, before = "", inner = "", after = ""] = /^(\n?)([^]*?)(\n?)$/.exec(text) ?? [];
  return [...(before === "" ? [] : [""]), inner, ...(after === "" ? [] : [""])];
}

/** The mark contains a random id, so that escape sequences in foreign text stay text. */
const MARK = `\u0001${randomUUID()} `;
const MARKED = new RegExp(`${MARK}([^\u0002]*)\u0002`);

function mark(sequence: string): string {
  return `${MARK}${sequence.replaceAll("\u001b", "^")}\u0002`;
}

/** Splits text: every odd item is a marked escape sequence. */
function pieces(text: string): string[] {
  return text
    .split(MARKED)
    .map((piece, index) => (index % 2 === 0 ? piece : piece.replaceAll("^", "\u001b")));
}

function shown(text: string): string {
  return pieces(text)
    .map((piece, index) => (index % 2 === 0 ? printable(piece) : piece))
    .join("");
}

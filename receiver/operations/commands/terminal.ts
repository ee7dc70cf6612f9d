import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { printable, printableJson } from "../printable.ts";

/**
 * Where commands write: data to standard output, words to standard error. Each text becomes one printable line here,
 * whatever is in it: nobody whose words are shown can steer the terminal, or a build server that reads along.
 */
export type Terminal = {
  /** A line of the result. A label stands before it, in its colour where there are colours. */
  print: (line: string, label?: { word: string; colour: Colour }) => void;
  /** The result for programs: JSON on one line, or over several for people who want to read it. */
  value: (value: unknown, layout?: "one-line" | "indented") => void;
  say: (line: string) => void;
  /** Says what went wrong and how to mend it, in one line. */
  complain: (problem: string) => void;
  /** Shows how far a command has come, in a line that the next text replaces; only where somebody is watching. */
  progress: (text: string) => void;
};

export type Colour = "green" | "red" | "yellow" | "cyan" | "gray";

type Stream = Writable & { isTTY?: boolean };

const ERASE_LINE = "\r\u001b[2K";

/** Makes the terminal of a command; the streams are the process's own but in tests. */
export function createTerminal({ stdout, stderr }: { stdout: Stream; stderr: Stream }): Terminal {
  let inProgress = false;

  function write(stream: Stream, text: string): void {
    if (inProgress) stderr.write(ERASE_LINE);
    inProgress = false;
    stream.write(`${text}\n`);
  }

  return {
    print: (line, label) => {
      const before = label && `${styleText(label.colour, printable(label.word), { stream: stdout })}  `;
      write(stdout, (before ?? "") + printable(line));
    },
    value: (value, layout) => {
      write(stdout, printableJson(JSON.stringify(value, null, layout === "indented" ? 2 : undefined)));
    },
    say: (line) => write(stderr, printable(line)),
    complain: (problem) => write(stderr, `voice-agent-receiver: ${printable(problem)}`),
    progress: (text) => {
      if (stderr.isTTY !== true) return;
      stderr.write(ERASE_LINE + printable(text));
      inProgress = true;
    },
  };
}

export const processTerminal: Terminal = createTerminal(process);

import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { printable, printableJson } from "../../../shared/printable.ts";
import { createRedactor } from "../secrets.ts";

/** What a command's exit code means: the same as the simulator's. */
export const EXIT = { ok: 0, somethingIsWrong: 1, usage: 2, couldNotRun: 3 } as const;

/** Why a command does not do what it was asked for, in a line for people; its exit code says what kind of reason that is. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly exitCode: number;

  constructor(problem: string, exitCode: number) {
    super(problem);
    this.exitCode = exitCode;
  }
}

/**
 * Where commands write: data to standard output, words to standard error. Each text becomes one printable line here,
 * whatever is in it: nobody whose words are shown can steer the terminal, or a build server that reads along.
 */
export type Terminal = {
  /** A line of the result. A label stands before it, in its colour where there are colours. */
  print: (line: string, label?: { word: string; colour: Colour }) => void;
  /**
   * The result for programs: JSON on one line, or indented for people who want to read it. With `whole`, nothing is
   * left out of it: it is what somebody has sent, and what was asked for.
   */
  value: (value: unknown, how?: { indented?: boolean; whole?: boolean }) => void;
  say: (line: string) => void;
  /** Says what went wrong and how to mend it, in one line. */
  complain: (problem: string) => void;
  /** Shows how far a command has come, in a line that the next text replaces; only where somebody is watching. */
  progress: (text: string) => void;
  /** From here on, leaves out these secrets wherever they stand. */
  hide: (secrets: readonly string[]) => void;
};

export type Colour = "green" | "red" | "yellow" | "cyan" | "gray";

type Stream = Writable & { isTTY?: boolean };

const ERASE_LINE = "\r\u001b[2K";

/** Makes the terminal of a command; the streams are the process's own but in tests. */
export function createTerminal({ stdout, stderr }: { stdout: Stream; stderr: Stream }): Terminal {
  let inProgress = false;
  let redact = createRedactor([]);
  const shown = (text: string): string => printable(redact(text));

  function write(stream: Stream, text: string): void {
    if (inProgress) stderr.write(ERASE_LINE);
    inProgress = false;
    stream.write(`${text}\n`);
  }

  return {
    print: (line, label) => {
      const before = label && `${styleText(label.colour, shown(label.word), { stream: stdout })}  `;
      write(stdout, (before ?? "") + shown(line));
    },
    value: (value, { indented = false, whole = false } = {}) => {
      const json = JSON.stringify(value, null, indented ? 2 : undefined);
      write(stdout, printableJson(whole ? json : redact(json)));
    },
    say: (line) => write(stderr, shown(line)),
    complain: (problem) => write(stderr, `voice-agent-receiver: ${shown(problem)}`),
    progress: (text) => {
      if (stderr.isTTY !== true) return;
      stderr.write(ERASE_LINE + shown(text));
      inProgress = true;
    },
    hide: (secrets) => {
      redact = createRedactor(secrets);
    },
  };
}

export const processTerminal: Terminal = createTerminal(process);

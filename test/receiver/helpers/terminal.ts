import { Writable } from "node:stream";
import { createTerminal, type Terminal } from "../../../receiver/operations/commands/terminal.ts";

export type RecordingTerminal = Terminal & { printed: string[]; said: string[] };

/** The terminal of a command, with the lines that reached it: data in `printed`, words in `said`. */
export function recordingTerminal(): RecordingTerminal {
  const printed: string[] = [];
  const said: string[] = [];
  return {
    ...createTerminal({ stdout: linesInto(printed), stderr: linesInto(said) }),
    printed,
    said,
  };
}

function linesInto(lines: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      lines.push(text.replace(/\n$/, ""));
      done();
    },
  });
}

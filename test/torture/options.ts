import { parseArgs } from "node:util";

/** What was asked of the long runs on the command line. */
export interface Options {
  minutes: number;
  seed: number;
  only: string | undefined;
  json: string | undefined;
  /** The JSON report whose figures go into the page. */
  figures: string | undefined;
  list: boolean;
}

export const USAGE = `npm run torture -- [--minutes N] [--seed N] [--only WORDS | --borders] [--json FILE] [--list]
npm run torture -- --figures FILE

  --minutes N    how long all of them may take together on two cores (default 30)
  --seed N       where everything that is drawn begins, to repeat a run (default: from the time)
  --only WORDS   the runs whose name contains these words
  --json FILE    writes the report there too
  --borders      the attacks on every border, alone
  --figures FILE writes the figures of such a report into docs/reliability.md, and starts none
  --list         names the runs with their share of the time, and starts none

With --hogs it plays all tests many times over beside four processes that want a core each, and goes on where it was
stopped: \`npm run torture -- --hogs [--runs 50] [--minutes N] [FILES]\`.
With --planted it plants bugs into copies of the code, each of them: \`npm run torture -- --planted --help\`.
`;

/** Something is wrong with the words of a command; the message says what. */
export class WrongUsage extends Error {}

/** The number that an option gives, a whole one from 1 to `most`. */
export function countFrom(option: string, text: string, most: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new WrongUsage(`${option} ${text}: give a whole number from 1 to ${String(most)}.`);
}

/** Whether an error is about the words of a command, ours or those of the parser. */
export function isWrongUsage(error: unknown): error is Error {
  const isParsers =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  return isParsers || error instanceof WrongUsage;
}

/** Reads the words behind `npm run torture --`; an answer of type string says what is wrong with them. */
export function parseOptions(words: string[], nowMs: number): Options | string {
  try {
    const { values } = parseArgs({
      args: words,
      options: {
        minutes: { type: "string", default: "30" },
        seed: { type: "string", default: String(nowMs % 1_000_000) },
        only: { type: "string" },
        json: { type: "string" },
        figures: { type: "string" },
        list: { type: "boolean", default: false },
        borders: { type: "boolean", default: false },
      },
    });
    const minutes = Number(values.minutes);
    const seed = Number(values.seed);
    if (!(minutes > 0 && minutes <= 1_440)) return `--minutes ${values.minutes}: give a number up to 1440.`;
    if (!Number.isSafeInteger(seed) || seed < 0) return `--seed ${values.seed}: give a whole number.`;
    return {
      minutes,
      seed,
      only: values.borders ? "borders" : values.only,
      json: values.json,
      figures: values.figures,
      list: values.list,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A simple command of a shell script: its variables, and its words, of which the first is the program. */
export type ShellCommand = { variables: string[]; words: string[] };

/** What ends a command, and what joins it with the next. */
const SEPARATOR = /^(?:&&|\|\||;;|[;|&\n(){}])/;
const REDIRECTION = /^\d*(?:>>|>&|>|<<|<)\s*(?:&?\d|[^\s;|&]+)/;
/** Words of the shell that a command may follow. */
const KEYWORDS = new Set([
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "while",
  "until",
  "do",
  "done",
  "!",
  "exec",
  "time",
]);

/**
 * Every simple command of a script, also those within `$(…)`. Parses only the grammar that the documentation uses;
 * `bash -n` checks the syntax.
 */
export function shellCommands(script: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  const inner: string[] = [];
  let words: string[] = [];
  let rest = script.replaceAll(/\\\n\s*/g, " ");
  const end = (): void => {
    while (KEYWORDS.has(words[0] ?? "")) words.shift();
    const variables = words.slice(0, words.findIndex((word) => !/^\w+=/.test(word)) >>> 0);
    if (words.length > variables.length) commands.push({ variables, words: words.slice(variables.length) });
    words = [];
  };
  while (rest !== "") {
    const [space = ""] = /^[ \t]+|^#[^\n]*/.exec(rest) ?? [];
    const [separator = ""] = SEPARATOR.exec(rest) ?? [];
    const [redirection = ""] = REDIRECTION.exec(rest) ?? [];
    if (separator !== "" && !/^\{\w/.test(rest)) end();
    const skipped = space || redirection || (/^\{\w/.test(rest) ? "" : separator);
    if (skipped !== "") {
      rest = rest.slice(skipped.length);
      continue;
    }
    const word = wordAt(rest);
    words.push(word.text);
    inner.push(...word.substitutions);
    rest = rest.slice(word.length);
  }
  end();
  return [...commands, ...inner.flatMap(shellCommands)];
}

/** The word at the beginning of `text`, without its quotes, and its command substitutions. */
function wordAt(text: string): { text: string; length: number; substitutions: string[] } {
  const substitutions: string[] = [];
  let word = "";
  let at = 0;
  let quote = "";
  while (at < text.length) {
    const character = text[at] ?? "";
    if (quote === "" && /[\s;|&()]/.test(character)) break;
    if (quote !== "'" && text.startsWith("$(", at)) {
      const close = closing(text, at + 1);
      substitutions.push(text.slice(at + 2, close));
      word += "$(…)";
      at = close + 1;
    } else if (character === quote) {
      quote = "";
      at += 1;
    } else if (quote === "" && /["']/.test(character)) {
      quote = character;
      at += 1;
    } else {
      const isEscape = character === "\\" && quote !== "'";
      word += isEscape ? (text[at + 1] ?? "") : character;
      at += isEscape ? 2 : 1;
    }
  }
  return { text: word, length: Math.max(at, 1), substitutions };
}

/** Where the parenthesis that opens at `at` is closed. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let place = at; place < text.length; place += 1) {
    if (text[place] === "(") depth += 1;
    if (text[place] === ")") depth -= 1;
    if (depth === 0) return place;
  }
  throw new Error(`A parenthesis is not closed: ${text}`);
}

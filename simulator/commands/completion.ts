import type { Command } from "commander";
import { quoted } from "../text/shell-words.ts";
import { COMMANDS } from "./catalogue.ts";

/** The shells that a script of completions is made for. */
export const COMPLETED_SHELLS = ["bash", "zsh", "fish"] as const;
type CompletedShell = (typeof COMPLETED_SHELLS)[number];

const PROGRAM = "voice-agent-simulator";

type Offer = { path: string[]; words: { word: string; says: string }[] };

/** A script that makes a shell complete our commands and their options; made from the commands themselves. */
export async function completionScript(shell: CompletedShell): Promise<string> {
  const offers = await allOffers();
  if (shell === "fish") return fishScript(offers);
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}${bashScript(offers)}`;
}

async function allOffers(): Promise<Offer[]> {
  const top = COMMANDS.map(({ name, summary }) => ({ word: name, says: summary }));
  const commands = await Promise.all(COMMANDS.map(({ load }) => load()));
  return [{ path: [], words: top }, ...commands.flatMap((command) => offersOf(command, []))];
}

function offersOf(command: Command, above: readonly string[]): Offer[] {
  const path = [...above, command.name()];
  const options = command.options.flatMap(({ long, description }) =>
    long == null ? [] : [{ word: long, says: description }],
  );
  const inner = command.commands.map((one) => ({ word: one.name(), says: one.description() }));
  return [{ path, words: [...inner, ...options] }, ...command.commands.flatMap((one) => offersOf(one, path))];
}

/** The longest path of commands that was typed decides what is offered. */
function bashScript(offers: readonly Offer[]): string {
  const cases = offers
    .filter(({ path }) => path.length > 0)
    .toSorted((left, right) => right.path.length - left.path.length)
    .map(({ path, words }) => `    ${quoted(`${path.join(" ")} `)}*) words=${quoted(list(words))} ;;`);
  const [top] = offers;
  return `_voice_agent_simulator() {
  local words
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in
${cases.join("\n")}
    *) words=${quoted(list(top?.words ?? []))} ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _voice_agent_simulator ${PROGRAM}
`;
}

function list(words: Offer["words"]): string {
  return words.map(({ word }) => word).join(" ");
}

function fishScript(offers: readonly Offer[]): string {
  const lines = offers.flatMap(({ path, words }) => {
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`).join("; and ");
    const when = path.length === 0 ? "__fish_use_subcommand" : seen;
    return words.map(({ word, says }) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c ${PROGRAM} -n ${quoted(when)} ${what} -d ${quoted(says)}`;
    });
  });
  return `${lines.join("\n")}\n`;
}

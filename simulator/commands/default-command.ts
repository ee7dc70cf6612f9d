import type { Command } from "commander";
import { didYouMean } from "../domain/refused.ts";

/** Adds the command that runs when `parent` is called without one; an unknown word is reported as an unknown command. */
export function defaultCommand(parent: Command, name: string): Command {
  parent.hook("preSubcommand", () => {
    const [word] = parent.args;
    const names = parent.commands.map((command) => command.name());
    if (word === undefined || word.startsWith("-") || names.includes(word)) return;
    parent.error(
      `error: unknown command '${word}'.${didYouMean(word, names)} The commands are ${names.join(", ")}.`,
    );
  });
  return parent.command(name, { isDefault: true });
}

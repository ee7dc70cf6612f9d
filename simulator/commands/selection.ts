import { type Command, Option } from "commander";
import { STATE_WORDS } from "../domain/outcome.ts";
import type { SelectionFields } from "../domain/selection.ts";
import { CAUSE_NAMES, VERDICT_RESULTS } from "../domain/shapes.ts";

const OPTIONS: Record<keyof SelectionFields, { flag: string; says: string; choices?: readonly string[] }> = {
  state: { flag: "--state <state>", says: "in this state", choices: STATE_WORDS },
  type: { flag: "--type <type>", says: "of this event type" },
  endpoint_id: { flag: "--endpoint <id>", says: "to this endpoint" },
  event_id: { flag: "--event <id>", says: "of this event" },
  verdict: { flag: "--verdict <verdict>", says: "with this verdict", choices: VERDICT_RESULTS },
  cause: { flag: "--cause <cause>", says: "with this cause", choices: CAUSE_NAMES },
  status: { flag: "--status <status>", says: "with an attempt that ended so: 500, or timeout" },
  phone: { flag: "--phone <digits>", says: "with this phone number" },
  q: { flag: "--text <query>", says: "with these words, or terms such as status:500 or 'order.total:>50'" },
  since: { flag: "--since <time>", says: "created since then: 1h, or 2026-01-31T18:00:00Z" },
  until: { flag: "--until <time>", says: "created before then" },
  gave_up_since: { flag: "--gave-up-since <time>", says: "gave up since then" },
  gave_up_until: { flag: "--gave-up-until <time>", says: "gave up before then" },
};

export const SELECTION_OPTIONS = Object.values(OPTIONS).map(({ flag }) => flag.split(" ")[0]);

export function addSelectionOptions(command: Command): Command {
  for (const { flag, says, choices } of Object.values(OPTIONS)) {
    const option = new Option(flag, says);
    command.addOption(choices === undefined ? option : option.choices(choices));
  }
  return command;
}

/** The selection of a command's options, in the words of the control API; empty if none was given. */
export function selectedBy(command: Command): Record<string, string> {
  const given = command.opts<Record<string, string | undefined>>();
  return Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([field, { flag }]) => {
      const value = given[new Option(flag).attributeName()];
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { workOff } from "./helpers/work-off.ts";

/** Each command that a command of the receiver offers, run as it stands there, and looked at where it led. */

const DEAD = newEvent({ type: "order.created" }).id;
const IGNORED = newEvent().id;

/** A database with a dead event and one that no handler wanted, and what runs the receiver's commands on it. */
async function startSeen() {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  await engine.intake.accept([
    newEvent({ id: DEAD, type: "order.created", body: Buffer.from(JSON.stringify({ id: DEAD })) }),
    newEvent({ id: IGNORED, type: "call.completed" }),
  ]);
  const states = await workOff(engine, {
    handlers: [handler({ name: "pos", types: ["order.created"] })],
    handle: async () => ({ kind: "dead", error: "no table" }),
  });
  expect(states).toMatchObject({ dead: 1, ignored: 1 });
  await engine.close();
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_long_enough_for_all" };
  return (...words: string[]) => runReceiver(words, environment);
}

/** The commands that stand in a text between backticks, or behind its last colon. */
function commandsIn(text: string): string[][] {
  const marked = [...text.matchAll(/`((?:inbox|recover|doctor|reconcile)[^`]*)`/g)].map(
    ([, words = ""]) => words,
  );
  const last = /: (inbox .*)$/m.exec(text)?.[1];
  return [...marked, ...(last === undefined ? [] : [last])].map((words) => words.split(" "));
}

const OFFERS: [words: string, offered: string[], leadsTo: RegExp[]][] = [
  [
    "doctor",
    ["inbox list --state dead", "inbox requeue --state dead", "inbox requeue --state ignored"],
    [new RegExp(`^dead .* ${DEAD} .*no table$`, "m"), /^1 requeued\.$/m, /^1 requeued\.$/m],
  ],
  ["inbox show DEAD", ["inbox requeue DEAD"], [/^1 requeued\.$/m]],
  ["inbox show evt_0123456789abcdef0123456789abcdef", ["inbox list"], [new RegExp(DEAD)]],
  ["inbox run evt_0123456789abcdef0123456789abcdef", ["inbox list"], [new RegExp(DEAD)]],
];

test.each(OFFERS)("what `%s` offers leads to what it was about", async (words, offered, leadsTo) => {
  const receiver = await startSeen();
  const { out, err } = await receiver(...words.replace("DEAD", DEAD).split(" "));
  const commands = commandsIn(out + err);
  expect(commands.map((command) => command.join(" "))).toEqual(
    offered.map((one) => one.replace("DEAD", DEAD)),
  );
  for (const [index, command] of commands.entries()) {
    const followed = await receiver(...command);
    expect({ command, code: followed.code }).toEqual({ command, code: 0 });
    expect(followed.out).toMatch(leadsTo[index] ?? /^never$/);
  }
});

test("a requeue that names nothing offers options that say what is meant", async () => {
  const receiver = await startSeen();
  const { code, err } = await receiver("inbox", "requeue");
  const [, offered = ""] = /choose them: (.*)\.$/m.exec(err) ?? [];
  const choices = offered.replace("NAME", "pos").split(/, (?:or )?/);
  expect({ code, choices }).toEqual({
    code: 2,
    choices: ["--state dead", "--state ignored", "--handler pos --since 7d"],
  });
  for (const choice of choices) {
    expect((await receiver("inbox", "requeue", ...choice.split(" "))).code).toBe(0);
  }
});

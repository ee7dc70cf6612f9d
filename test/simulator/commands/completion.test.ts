import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../simulator/commands/catalogue.ts";
import { run } from "./in-process.ts";

/** What bash offers for the words so far, of which the last is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await run("--completion", "bash");
  const script = `${out}
COMP_WORDS=(voice-agent-simulator "$@"); COMP_CWORD=$#; _voice_agent_simulator; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
}

test("bash completes commands, what a command has below it, and its options", async () => {
  expect(await offered("")).toEqual(COMMANDS.map(({ name }) => name));
  expect(await offered("de")).toEqual(["dev", "deliveries"].filter((name) => name.startsWith("de")));
  expect(await offered("endpoints", "rot")).toEqual(["rotate"]);
  expect(await offered("endpoints", "rotate", "--ov")).toEqual(["--overlap"]);
  expect(await offered("verify", "http://localhost:3000/", "--fail")).toEqual(["--fail-on"]);
  expect(await offered("serve", "--forward")).toEqual(["--forward-to"]);
});

test("zsh takes the script of bash; fish has a line for each command and option, with what it does", async () => {
  expect((await run("--completion", "zsh")).out).toMatch(
    /^autoload -U \+X bashcompinit && bashcompinit\n_voice/,
  );
  const { out } = await run("--completion", "fish");
  for (const { name } of COMMANDS) expect(out).toContain(` -n '__fish_use_subcommand' -f -a ${name} -d '`);
  expect(out).toContain(
    "-n '__fish_seen_subcommand_from endpoints; and __fish_seen_subcommand_from rotate' -l overlap -d 'how long",
  );
});

test("another shell is wrong usage, and without a command the help is shown as before", async () => {
  expect(await run("--completion", "tcsh")).toMatchObject({ code: 2, out: "" });
  const { code, err } = await run();
  expect({ code, isHelp: err.startsWith("Usage: voice-agent-simulator") }).toEqual({ code: 2, isHelp: true });
});

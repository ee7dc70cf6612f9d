import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blockUnder } from "../../docs/pages.ts";
import { freePort } from "../../helpers/free-port.ts";
import type { Machine } from "./machine.ts";

const PAGE = "README.md";

/** The README's commands in a fresh clone and in an empty folder, unchanged except for ports that may be taken here. */
export async function readmeWorks(machine: Machine, kit: string): Promise<string[]> {
  const clone = join(machine.folder, "voice-agent-webhook-kit");
  const [port, adminPort, simulatorPort] = [await freePort(), await freePort(), await freePort()].map(String);
  const url = `http://localhost:${port ?? ""}/webhooks`;
  const settings = {
    ADMIN_PORT: adminPort ?? "",
    VOICE_AGENT_SIMULATOR_URL: `http://127.0.0.1:${simulatorPort ?? ""}`,
  };
  const line = (heading: string, place = 0): string =>
    blockUnder(PAGE, heading, "sh", place).trim().replaceAll("http://localhost:3000/webhooks", url);
  const problems: string[] = [];
  const expectRun = (command: string, folder: string, sign: RegExp): void => {
    const { status, output } = machine.run(command, folder, settings);
    if (status !== 0 || !sign.test(output))
      problems.push(`${command}: ${String(status)}\n${output.slice(-800)}`);
  };

  expectRun(`git clone --quiet ${kit} ${clone}`, machine.folder, /^/);
  // One round instead of until Ctrl-C.
  const once = `-- --once --port ${simulatorPort ?? ""} --url ${url}`;
  expectRun(
    `${line("voice-agent-webhook-kit")} ${once}`,
    clone,
    /handled exactly once; the duplicate changed nothing/,
  );

  const [fork = "", enter = "", start = ""] = line("Make the receiver yours").split("\n");
  expectRun(fork, clone, /npm start/);
  const forked = { ...settings, PORT: port ?? "", SIGNING_SECRET: "whsec_of_the_readme" };
  const started = await machine.start(`${enter} && ${start}`, /"msg":"listening"/, clone, forked);
  if (!started.isUp) problems.push(`${start}: ${started.output().slice(-800)}`);
  await started.stop();

  const OWN = "Test your own receiver, in any language";
  expectRun(
    line(OWN).replace(" dev ", ` dev --once --port ${simulatorPort ?? ""} `),
    clone,
    /All 5 event types acknowledged/,
  );
  expectRun(line(OWN, 1), clone, /PASSED +\d+ passed, 0 failed/);
  const serving = await machine.start(
    `npm run simulator -- serve --port ${simulatorPort ?? ""} --clock manual`,
    /Ctrl-C ends it/,
    clone,
  );
  for (const command of line(OWN, 2).split("\n")) expectRun(command, clone, /^/);
  await serving.stop();

  const [pack = "", install = "", verify = ""] = line("In CI, and in your own tests").split("\n");
  expectRun(pack, clone, /\.tgz/);
  const project = join(machine.folder, "project");
  mkdirSync(project);
  copyFileSync(join(kit, "examples/receivers/http_server.py"), join(project, "my_receiver.py"));
  writeFileSync(join(project, "package.json"), '{ "name": "project", "private": true }\n');
  const packed = "../voice-agent-webhook-kit/voice-agent-webhook-kit-";
  expectRun(install.replace("../voice-agent-webhook-kit-", packed), project, /^/);
  const command = verify.replace("node server.js", "python3 my_receiver.py");
  if (!machine.run("node --version").output.startsWith("v20.")) {
    expectRun(command, project, /PASSED +\d+ passed, 0 failed/);
    return problems;
  }
  // Node.js is too old for the installed package: one line says so, and what to do.
  const { status, output } = machine.run(command, project);
  if (status !== 78 || !/^Node\.js 20\.\S+ is too old: /m.test(output))
    problems.push(`${command}: ${output}`);
  return problems;
}

import { spawn, spawnSync } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { RUN_TYPESCRIPT } from "../helpers/typescript.ts";
import { type Behaviour, SECRET, startMutant } from "../mutants/receiver.ts";

const MAIN = fileURLToPath(new URL("../../simulator/main.ts", import.meta.url));
/** Groups in which nothing has to be waited for but the limits of the window. */
const GROUPS = "acknowledgement,signature,raw-bytes,duplicates,evolution,readings";
/** Wrong in some ways, so that there are verdicts of every kind. */
const PLANT: Partial<Behaviour> = {
  duplicateStatus: 409,
  acceptable: ({ type }) => type !== "booking.created" || 400,
  takeApart: (header) => ({ ts: header.match(/(?<=t=)\d+/g) ?? [], v1s: header.match(/(?<=v1=)\w+/g) ?? [] }),
};

/** Another machine, as far as one machine can be another. */
type Machine = { wrapper: string[]; env: Record<string, string>; directory: string };

const HERE: Machine = {
  wrapper: wrappers(["taskset", "-c", "0"]),
  env: { TZ: "UTC", LC_ALL: "C", LANG: "C" },
  directory: "/",
};
const ELSEWHERE: Machine = {
  wrapper: wrappers(["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$0" "$@"']),
  env: { TZ: "Pacific/Kiritimati", LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8", UV_THREADPOOL_SIZE: "1" },
  directory: "/tmp",
};

test("a seed finds the same, in the same order, in another place, language, time zone, and with other cores", async () => {
  const [first, second] = await Promise.all([runOn(HERE), runOn(ELSEWHERE)]);

  expect(second).toBe(first);
  for (const found of ["passed", "failed", "unverified"]) expect(first).toContain(` ${found}`);
  expect(first).toMatch(/evt_[0-9a-f]{32}/);
});

/** What a run with this seed finds there, and the events that show it. */
async function runOn({ wrapper, env, directory }: Machine): Promise<string> {
  const receiver = await startMutant(PLANT, Date.now);
  onTestFinished(() => receiver.close());
  const words = ["verify", receiver.url, "--secret", SECRET, "--seed", "42", "--json"];
  const [program, ...more] = [...wrapper, process.execPath, ...RUN_TYPESCRIPT, MAIN];
  const checks = ["--only", `${GROUPS},effects.each-type`, "--skip", "signature.past-*,signature.future-*"];
  const child = spawn(program, [...more, ...words, ...checks], {
    cwd: directory,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return foundIn(JSON.parse(await text(child.stdout)));
}

/** Each check, what became of it, and the ids of the events that show it. */
function foundIn(report: unknown): string {
  const { checks } = reportSchema.parse(report);
  return checks
    .map(({ id, outcome, evidence = [] }) => {
      const events = evidence.flatMap(({ sent }) => sent.body.match(/evt_[0-9a-fA-F]{32}/) ?? []);
      return [id, outcome, ...events].join(" ");
    })
    .join("\n");
}

const reportSchema = z.looseObject({
  checks: z.array(
    z.looseObject({
      id: z.string(),
      outcome: z.string(),
      evidence: z.array(z.looseObject({ sent: z.looseObject({ body: z.string() }) })).optional(),
    }),
  ),
});

/** `words` where they can be run here, and nothing where they cannot. */
function wrappers(words: string[]): string[] {
  const [program = "", ...more] = words;
  return spawnSync(program, [...more, "true"]).status === 0 ? words : [];
}

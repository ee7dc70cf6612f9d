import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { LEASE_MS } from "../../../receiver/engine.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { run } from "../../helpers/process.ts";
import { get, SECRET } from "../helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../helpers/process.ts";
import { until } from "../helpers/until.ts";
import { balanceOver } from "./balancer.ts";

/** How often the whole of `verify` is run: minutes each. */
const RUNS = Number(process.env["VERIFY_POSTGRES"] ?? 1);
const KILL_EVERY_MS = 2_000;

type Role = "ingest" | "worker";

test(
  "two processes that take events and two that handle them pass verify, while one after the other is killed",
  { timeout: RUNS * 600_000 },
  async () => {
    const { url, drop } = await newDatabase();
    onTestFinished(drop);
    const start = async (role: Role): Promise<ReceiverProcess> => {
      const started = await startProcess({ environment: { DATABASE_URL: url, RECEIVER_ROLE: role } });
      await until(
        async () => (await get(`${started.adminUrl}/readyz`)).status,
        (status) => status === 200,
      );
      return started;
    };
    const running = {
      ingest: await Promise.all([start("ingest"), start("ingest")]),
      worker: await Promise.all([start("worker"), start("worker")]),
    };
    const webhooks = await balanceOver(() => running.ingest.map((one) => portOf(one.url)));
    const admin = await balanceOver(() => running.ingest.map(({ adminUrl }) => portOf(adminUrl)));

    /** Ends the older of two, as it may happen, and starts another in its place. */
    const kill = async (role: Role, how: (older: ReceiverProcess) => Promise<unknown>): Promise<void> => {
      const older = running[role].shift();
      if (older) await how(older);
      running[role].push(await start(role));
    };
    const all = async (older: ReceiverProcess): Promise<void> => older.kill();
    const parentAlone = async ({ child, exited }: ReceiverProcess): Promise<unknown> => {
      child.kill("SIGKILL");
      return exited;
    };
    const ways = [
      async () => kill("worker", all),
      async () => kill("ingest", all),
      async () => kill("worker", parentAlone),
      async () => killHandlers(running.worker[0]),
    ];

    let kills = 0;
    for (let round = 1; round <= RUNS; round += 1) {
      const verify = run("simulator/main.ts", [
        "verify",
        `${webhooks}/webhooks`,
        "--secret",
        SECRET,
        "--observe",
        `${admin}/inbox/{id}`,
        // What is in hand when its process is killed is taken up within that time, and one kill follows another.
        "--effects-within",
        String(LEASE_MS / 1_000 + 1),
      ]);
      while (verify.child.exitCode === null) {
        await ways[kills % ways.length]?.();
        kills += 1;
        await Promise.race([delay(KILL_EVERY_MS), verify.exited]);
      }
      const { code } = await verify.exited;
      expect({ code, said: code === 0 ? [] : verify.out }).toEqual({
        code: 0,
        said: [],
      });
      process.stdout.write(`${verify.out.at(-1) ?? ""}\nfigure: kills = ${String(kills)}\n`);
    }
  },
);

/** Only the process in which handlers run; its parent starts another. */
async function killHandlers(worker: ReceiverProcess | undefined): Promise<void> {
  const parent = String(worker?.child.pid);
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8").catch(() => "");
  for (const pid of children.trim().split(" ").filter(Boolean)) process.kill(Number(pid), "SIGKILL");
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

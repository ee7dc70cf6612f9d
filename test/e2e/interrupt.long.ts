import { randomUUID } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createGroupCommit } from "../../receiver/intake/group-commit.ts";
import { createInbox } from "../../receiver/intake/inbox.ts";
import { control } from "../helpers/control.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { RUN_TYPESCRIPT } from "../helpers/typescript.ts";
import { API_KEY, makeCalls, startRestService } from "../receiver/helpers/rest-service.ts";
import { newBody, SECRET, signatureFor } from "../receiver/helpers/events.ts";
import { ROOT } from "../repository/files.ts";

const SIMULATOR = [process.execPath, ...RUN_TYPESCRIPT, "simulator/main.ts"];
const RECEIVER = [process.execPath, ...RUN_TYPESCRIPT, "receiver/main.mjs"];
const LATEST_MS = 1_000;

type Started = ReturnType<typeof start>;
type Case = {
  words: string[];
  env?: Record<string, string>;
  isRead?: boolean;
  /** Resolves when the command is at work. */
  busy: (started: Started) => Promise<unknown>;
  ends: [code: number | null, signal: NodeJS.Signals | null];
  said: RegExp;
};

/** Runs words in a process group of their own, as a terminal does; all that they start has the mark in its environment. */
function start(words: readonly string[], { env = {}, isRead = true }: Partial<Case>) {
  const mark = randomUUID();
  const [program = "", ...rest] = words;
  const child = spawn(program, rest, {
    cwd: ROOT,
    env: { ...process.env, ...env, MARK: mark },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of isRead ? [child.stdout, child.stderr] : [])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(() => {
    for (const pid of marked(mark)) process.kill(Number(pid), "SIGKILL");
  });
  return {
    child,
    exited,
    output: () => output,
    says: async (sign: RegExp) => {
      await expect.poll(() => output, { timeout: 30_000, interval: 20 }).toMatch(sign);
    },
    interrupt: () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGINT");
    },
    left: () => marked(mark),
  };
}

/** The processes that run with the mark in their environment. */
function marked(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MARK=${mark}`);
    } catch {
      return false;
    }
  });
}

/** A receiver, a simulator, a REST API that takes what comes and never answers. */
async function silent() {
  const endpoint = await startEndpoint(() => undefined);
  return { url: endpoint.url, origin: new URL(endpoint.url).origin, asked: () => endpoint.until(1) };
}

/** A database server that takes connections and says nothing. */
async function silentPort() {
  const server = createServer((socket) => void asked.push(socket));
  const asked: unknown[] = [];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `postgres://nobody@127.0.0.1:${address.port}/none`,
    asked: async () => {
      await expect.poll(() => asked.length, { timeout: 20_000 }).toBeGreaterThan(0);
    },
  };
}

async function inbox(events = 0) {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({
    file,
    clock: systemClock,
  });
  const deliver = createInbox({
    secrets: [SECRET],
    clock: systemClock,
    store: createGroupCommit({ accept: engine.intake.accept, clock: systemClock }),
  });
  await Promise.all(
    Array.from({ length: events }, async () => {
      const body = newBody();
      return deliver({ signatures: [signatureFor(body)], body, trace: null });
    }),
  );
  await engine.close();
  return { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: SECRET, PORT: "0", ADMIN_PORT: "0" };
}

/** Each command at work: its words, how one sees that it is, how it ends, and what it tells then. */
const CASES: Record<string, () => Promise<Case>> = {
  "serve, with an attempt under way": async () => {
    const { url, asked } = await silent();
    return {
      words: [...SIMULATOR, "serve", "--port", "0", "--calls", "0", "--forward-to", url],
      async busy({ says, output }) {
        await says(/Ctrl-C ends it/);
        const simulator = /http:\S+(?=\/dashboard)/.exec(output())?.[0] ?? "";
        await control(simulator, "POST", "/events", { type: "call.completed" });
        await asked();
      },
      ends: [0, null],
      said: /trigger call\.completed/,
    };
  },
  "dev --url, during the tour": async () => {
    const { url, asked } = await silent();
    const words = [...SIMULATOR, "dev", "--port", "0", "--url", url, "--secret", SECRET];
    return { words, busy: asked, ends: [0, null], said: /no answer yet/ };
  },
  "dev, searching": async () => ({
    words: [...SIMULATOR, "dev", "--port", "0"],
    busy: ({ says }) => says(/No receiver listens yet/),
    ends: [3, null],
    said: /SIGNING_SECRET=whsec_/,
  }),
  "dev -- COMMAND that does not listen": async () => ({
    words: [
      ...SIMULATOR,
      "dev",
      "--port",
      "0",
      "--",
      process.execPath,
      "test/simulator/commands/dev-receiver.ts",
      "deaf",
    ],
    busy: ({ says }) => says(/deaf \d+/),
    ends: [3, null],
    said: /Interrupted before the receiver listened/,
  }),
  verify: async () => {
    const { url, asked } = await silent();
    const words = [...SIMULATOR, "verify", url, "--secret", SECRET];
    return { words, busy: asked, ends: [3, null], said: /INCOMPLETE {2}It was interrupted/ };
  },
  load: async () => {
    const { url, asked } = await silent();
    const words = [...SIMULATOR, "load", url, "--secret", SECRET];
    return { words, busy: asked, ends: [0, null], said: /Acknowledged {2}0 of 0/ };
  },
  "replay --to": async () => {
    const { url, asked } = await silent();
    const words = [...SIMULATOR, "replay", "call.completed", "--to", url, "--secret", SECRET];
    return { words, busy: asked, ends: [3, null], said: /Stopped after 0 of 1/ };
  },
  "replay, through a simulator": async () => {
    const { origin, asked } = await silent();
    const words = [...SIMULATOR, "replay", "call.completed", "--simulator", origin];
    return { words, busy: asked, ends: [3, null], said: /Stopped after 0 of 1/ };
  },
  trigger: async () => {
    const { origin, asked } = await silent();
    const words = [...SIMULATOR, "trigger", "call.completed", "--simulator", origin];
    return { words, busy: asked, ends: [3, null], said: /Interrupted: the simulator goes on/ };
  },
  "clock run": async () => {
    const { origin, asked } = await silent();
    const words = [...SIMULATOR, "clock", "run", "--simulator", origin];
    return { words, busy: asked, ends: [3, null], said: /How far it is: {2}\S.* clock --simulator/ };
  },
  "mcp, asking": async () => {
    const { origin, asked } = await silent();
    return {
      words: [...SIMULATOR, "mcp", "--simulator", origin],
      async busy({ child, says }) {
        const ask = (message: object) =>
          child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
        const clientInfo = { name: "test", version: "1" };
        ask({
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
        });
        await says(/"serverInfo"/);
        ask({ method: "notifications/initialized" });
        ask({ id: 2, method: "tools/call", params: { name: "deliveries", arguments: {} } });
        await asked();
      },
      ends: [0, null],
      said: /"serverInfo"/,
    };
  },
  "the receiver": async () => ({
    words: [...RECEIVER, "start"],
    env: await inbox(),
    busy: ({ says }) => says(/"msg":"listening"/),
    ends: [0, null],
    said: /"msg":"stopped"/,
  }),
  reconcile: async () => {
    const { origin, asked } = await silent();
    const env = { ...(await inbox()), API_BASE_URL: origin, API_KEY: "va_test" };
    const said = /interrupted before it had read anything/;
    return { words: [...RECEIVER, "reconcile"], env, busy: asked, ends: [3, null], said };
  },
  "reconcile, half way": async () => {
    const { state, baseUrl } = await startRestService();
    state.calls = makeCalls(150, Date.now());
    // The second page never comes.
    state.isDown = () => {
      if (state.requests.length === 2) state.interludes.push(() => undefined);
      return false;
    };
    return {
      words: [...RECEIVER, "reconcile"],
      env: { ...(await inbox()), API_BASE_URL: baseUrl, API_KEY },
      busy: async () => {
        await expect.poll(() => state.requests.length, { timeout: 20_000 }).toBe(3);
      },
      ends: [3, null],
      said: /^Healed: 100\n[^]*reconcile did not finish: it was interrupted\. Run it again/,
    };
  },
  "inbox export, to somebody who does not read": async () => ({
    words: [...RECEIVER, "inbox", "export"],
    env: await inbox(500),
    isRead: false,
    busy: ({ child }) => once(child.stdout, "readable"),
    // Nothing of ours could run while a write waits for its reader.
    ends: [null, "SIGINT"],
    said: /^/,
  }),
  move: async () => {
    const { url, asked } = await silentPort();
    const words = [...RECEIVER, "move", "--to", url];
    return { words, env: await inbox(), busy: asked, ends: [null, "SIGINT"], said: /^/ };
  },
  "npm start": async () => {
    const port = await freePort();
    const url = `http://localhost:${port}/webhooks`;
    return {
      words: ["npm", "start", "--", "--port", "0", "--url", url],
      env: { ...(await inbox()), ADMIN_PORT: String(await freePort()), npm_config_script_shell: "bash" },
      busy: ({ says }) => says(/Ctrl-C ends both/),
      ends: [0, null],
      said: /All 5 event types acknowledged/,
    };
  },
};

describe("one Ctrl-C ends within a second, says how far it came, and leaves no process", () => {
  test.for(Object.entries(CASES))("%s", { timeout: 60_000 }, async ([, prepare]) => {
    const { words, busy, ends, said, ...how } = await prepare();
    const started = start(words, how);
    await busy(started);
    const interruptedMs = performance.now();
    started.interrupt();
    const ended = await started.exited;
    const tookMs = performance.now() - interruptedMs;
    expect(ended, started.output()).toEqual(ends);
    expect(tookMs).toBeLessThan(LATEST_MS);
    expect(started.output()).toMatch(said);
    expect(started.left()).toEqual([]);
  });
});

test("a second Ctrl-C ends the receiver at once, though a request is not through yet", async () => {
  const receiver = start([...RECEIVER, "start"], { env: await inbox() });
  await receiver.says(/"msg":"listening"/);
  const { hostname, port } = new URL(/"url":"([^"]+)"/.exec(receiver.output())?.[1] ?? "");
  const client = connect(Number(port), hostname);
  onTestFinished(() => void client.destroy());
  client.on("error", () => undefined);
  client.write("POST /webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
  await once(client, "connect");
  receiver.interrupt();
  await receiver.says(/"msg":"shutting down"/);
  const pressing = setInterval(receiver.interrupt, 50);
  const [code] = await receiver.exited;
  clearInterval(pressing);

  expect(code, receiver.output()).toBe(130);
  // The handlers' process ends by itself once its supervisor is gone.
  await expect.poll(receiver.left).toEqual([]);
});

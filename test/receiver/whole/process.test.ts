import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listen } from "../../helpers/listen.ts";
import { get, idOf, newBody, post } from "../helpers/events.ts";
import { runCommand, startProcess } from "../helpers/process.ts";
import { knock, open, rawRequest, readAnswer } from "../helpers/raw.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

const database = (): string => `sqlite:${join(temporaryDirectory(), "receiver.db")}`;

/** How often the receiver is drained under load. */
const DRAINS = Array.from({ length: Number(process.env["DRAINS"] ?? 1) }, (_, index) => index + 1);

test("a start that finds its port taken says which", async () => {
  const { port } = await listen(createServer());
  const environment = { SIGNING_SECRET: "s", PORT: String(port), ADMIN_PORT: "0", RECEIVER_ROLE: "ingest" };
  const { code, stderr } = await runCommand([], { ...environment, DATABASE_URL: database() });
  expect(code).toBe(3);
  expect(stderr).toMatch(new RegExp(`cannot listen: .*EADDRINUSE.*:${String(port)}\\. End the program`));
});

test("--watch works without `start`, and handlers see a changed .env, mistakes too; the shell's variables take precedence", async () => {
  const cwd = temporaryDirectory();
  const others = "MAX_ATTEMPTS=0\nDATABASE_URL=postgres://nowhere/";
  const dotEnv = (given: number): void =>
    writeFileSync(join(cwd, ".env"), `WORKER_CONCURRENCY=${String(given)}\n${others}`);
  dotEnv(2);
  const environment = { DATABASE_URL: database(), MAX_ATTEMPTS: "3" };
  const { child, exited, lines } = await startProcess({ environment, cwd, words: ["--watch", "--json"] });
  const handles = (concurrency: number): boolean =>
    lines.some((line) => /"concurrency":(\d+).*handling events/.exec(line)?.[1] === String(concurrency));
  await until(() => handles(2));
  dotEnv(0);
  await until(() => lines.some((line) => line.includes('"problem":"WORKER_CONCURRENCY must be')));
  dotEnv(3);
  await until(() => handles(3));
  expect(lines.filter((line) => line.includes("has changed"))).toHaveLength(2);
  child.kill("SIGTERM");
  expect(await exited).toEqual({ code: 0, signal: null });
});

describe("the process", () => {
  test("handles an event across roles: one process ingests, another works", async () => {
    const environment = { DATABASE_URL: database() };
    const ingest = await startProcess({ environment: { ...environment, RECEIVER_ROLE: "ingest" } });
    const body = newBody();
    expect((await post(ingest.url, body)).status).toBe(200);
    const look = async () =>
      (await get(`${ingest.adminUrl}/inbox/${idOf(body)}`)).json() as Promise<{ state: string }>;
    expect(await look()).toMatchObject({ state: "waiting", handled: 0 });
    await startProcess({ environment: { ...environment, RECEIVER_ROLE: "all" } });
    expect(await until(look, ({ state }) => state === "done")).toMatchObject({
      handled: 1,
      attempts: 1,
      duplicates: 0,
    });
  });

  test.for(DRAINS)(
    "drains under load at SIGTERM, round %i: no request is broken, nothing acknowledged is lost, exit 0 in time",
    async () => {
      const environment = { DATABASE_URL: database(), SHUTDOWN_TIMEOUT_SECONDS: "15" };
      const receiver = await startProcess({ environment });
      const acknowledged: string[] = [];
      const broken: unknown[] = [];
      const refused: number[] = [];
      let stopping = false;
      const client = async (): Promise<void> => {
        for (;;) {
          const body = newBody();
          const answer = await post(receiver.url, body).catch((error: unknown) => {
            // A refused connection is not a broken request, since none was sent.
            const { code } = (error as { cause?: { code?: string } }).cause ?? {};
            if (code !== "ECONNREFUSED") broken.push(error);
            return undefined;
          });
          if (!answer) return;
          if (answer.status === 200) acknowledged.push(idOf(body));
          else refused.push(answer.status);
          await answer.arrayBuffer();
          if (stopping && answer.status === 200) continue;
          if (answer.status !== 200) return;
        }
      };
      const clients = Array.from({ length: 8 }, client);
      await until(() => acknowledged.length > 100);
      stopping = true;
      const startedAtMs = performance.now();
      receiver.child.kill("SIGTERM");
      // A second signal, as npm sends after the terminal has, changes nothing.
      receiver.child.kill("SIGTERM");
      await Promise.all(clients);
      expect(await receiver.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAtMs).toBeLessThan(16_000);
      expect(broken).toEqual([]);
      expect(refused.every((status) => status === 503)).toBe(true);

      const again = await startProcess({ environment: { ...environment, RECEIVER_ROLE: "ingest" } });
      for (const id of acknowledged) {
        const event = (await (await get(`${again.adminUrl}/inbox/${id}`)).json()) as { state: string };
        expect(["waiting", "running", "done"]).toContain(event.state);
      }
    },
  );

  test("is not ready while it drains", async () => {
    const environment = { DATABASE_URL: database(), RECEIVER_ROLE: "ingest" };
    const receiver = await startProcess({ environment });
    // A keep-alive connection that a request is being sent on when the signal comes.
    const socket = open(receiver.url);
    const request = rawRequest(receiver.url, { body: newBody() });
    socket.write(request.subarray(0, -1));
    const idle = open(receiver.url);
    idle.write(rawRequest(receiver.url, { method: "GET", path: "/readyz" }));
    expect((await readAnswer(idle)).json).toMatchObject({ checks: { draining: "ok" } });
    receiver.child.kill("SIGTERM");
    // Even after the port is closed, open connections are served.
    await until(async () => !(await knock(receiver.url)));
    socket.write(request.subarray(-1));
    const begun = await readAnswer(socket);
    expect({ status: begun.status, connection: begun.headers.get("connection") }).toEqual({
      status: 200,
      connection: "close",
    });
    idle.write(rawRequest(receiver.url, { body: newBody() }));
    const late = await readAnswer(idle);
    expect({ status: late.status, connection: late.headers.get("connection") }).toEqual({
      status: 503,
      connection: "close",
    });
    expect(await receiver.exited).toEqual({ code: 0, signal: null });
  });
});

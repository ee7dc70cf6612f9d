import { onTestFinished, expect, test } from "vitest";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { freePort } from "../../helpers/free-port.ts";
import { run } from "../../helpers/process.ts";

const SECRET = "whsec_of_two_machines";

test(
  "two processes that take events and two that handle them pass verify, while one after the other is killed",
  { timeout: 60_000 },
  async () => {
    const { url, drop } = await newDatabase();
    onTestFinished(drop);
    const start = async (
      role: string,
    ): Promise<{ ports: [number, number]; process: ReturnType<typeof run> }> => {
      const ports: [number, number] = [await freePort(), await freePort()];
      const process = run("receiver/main.ts", [], {
        SIGNING_SECRET: SECRET,
        DATABASE_URL: url,
        RECEIVER_ROLE: role,
        PORT: String(ports[0]),
        ADMIN_PORT: String(ports[1]),
      });
      return { ports, process };
    };
    const isListening = (line: string): boolean => /"msg":"(listening|working)"/.test(line);
    const [taking, alsoTaking] = await Promise.all([start("ingest"), start("ingest")]);
    let [older, newer] = await Promise.all([start("worker"), start("worker")]);
    await Promise.all(
      [taking, alsoTaking, older, newer].map(async ({ process }) => process.line(isListening)),
    );

    const verify = run("simulator/main.ts", [
      "verify",
      `http://127.0.0.1:${String(taking.ports[0])}/webhooks`,
      "--secret",
      SECRET,
      "--observe",
      `http://127.0.0.1:${String(alsoTaking.ports[1])}/inbox/{id}`,
      "--only",
      "effects",
    ]);
    let killed = 0;
    while (verify.child.exitCode === null) {
      await older.process.kill("SIGKILL");
      killed += 1;
      [older, newer] = [newer, await start("worker")];
      await Promise.race([newer.process.line(isListening), verify.exited]);
    }
    const { code } = await verify.exited;
    expect(verify.out.join("\n")).toContain("effects");
    expect({ code, failures: verify.out.filter((line) => line.includes("✗")) }).toEqual({
      code: 0,
      failures: [],
    });
    expect(killed).toBeGreaterThan(1);
    expect(alsoTaking.process.child.exitCode).toBeNull();
  },
);

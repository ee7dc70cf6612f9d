import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type LookupFunction, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemTime, type WallTime } from "../../../simulator/domain/wall-time.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { leavesNothingOpen, OK, sendTo, SHORT_MS, wordOf } from "./harness.ts";

const { keepsOpen } = leavesNothingOpen();

/**
 * A port whose queue of connections is full and whose process is stopped, so that the kernel answers no further one: a
 * new connection hangs in the TCP handshake.
 */
async function stalledPort(): Promise<number> {
  const script = `const server = require("node:net").createServer();
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const fillers: Socket[] = [];
  onTestFinished(async () => {
    const closed = fillers.map((filler) => once(filler, "close"));
    for (const filler of fillers) filler.destroy();
    await Promise.all(closed);
    child.kill("SIGKILL");
    await once(child, "close");
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  child.kill("SIGSTOP");
  // Fill the queue until a connection hangs.
  for (let hanging = false; !hanging;) {
    const filler = connect({ port, host: "127.0.0.1" }).on("error", () => {});
    fillers.push(filler);
    hanging = await Promise.race([
      once(filler, "connect").then(() => false),
      // Established connections are reported first, however slow this machine is.
      new Promise<boolean>((resolve) => setTimeout(() => setImmediate(() => resolve(true)), 500)),
    ]);
  }
  return port;
}

describe("the deadline ends an attempt that stalls", () => {
  const timeoutMs = SHORT_MS;

  test.skipIf(process.platform !== "linux")("while it connects", async () => {
    const port = await stalledPort();
    const result = await sendTo(`http://127.0.0.1:${port}/`, { timeoutMs });
    expect(result.outcome).toEqual({ error: "timeout" });
    keepsOpen();
  });

  test("in the TLS handshake", async () => {
    const server = await startRawServer(() => {}, { onConnect: true });
    expect(await wordOf(sendTo(server.tlsUrl, { timeoutMs }))).toBe("timeout");
    await server.close();
  });

  test("in the look-up of the name", async () => {
    const lookup: LookupFunction = () => {};
    expect(await wordOf(sendTo("https://endpoint.example/", { timeoutMs, lookup }))).toBe("timeout");
  });

  test.each<[string, string]>([
    ["before the answer", ""],
    ["within the status line", "HTTP/1.1 20"],
    ["within the headers", "HTTP/1.1 200 OK\r\nX-One: 1\r\n"],
    ["behind an interim answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n"],
  ])("%s", async (_name, bytes) => {
    const server = await startRawServer((socket) => socket.write(bytes));
    const result = await sendTo(server.url, { timeoutMs });
    expect(result.outcome).toEqual({ error: "timeout" });
    expect(result.durationMs).toBeGreaterThanOrEqual(timeoutMs - 1);
    await server.close();
  });

  test("during slow interim answers, which do not extend it", async () => {
    const server = await startRawServer((socket) => {
      const drip = () => {
        if (socket.writable) socket.write("HTTP/1.1 102 Processing\r\n\r\n", () => setImmediate(drip));
      };
      drip();
    });
    expect(await wordOf(sendTo(server.url, { timeoutMs }))).toBe("timeout");
    await server.close();
  });

  test("while the receiver reads no byte of the body", async () => {
    const server = await startRawServer((socket) => socket.pause(), { onConnect: true });
    const body = Buffer.alloc(20_000_000);
    expect(await wordOf(sendTo(server.url, { timeoutMs, body }))).toBe("timeout");
    await server.close();
  });

  test("in the body, after the status has decided", async () => {
    const server = await startRawServer((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhalf"));
    // Long enough for a busy machine to see the status before it.
    const waitsMs = 4_000;
    const result = await sendTo(server.url, { timeoutMs: waitsMs });
    expect(result.outcome).toEqual({ status: 200 });
    expect(result.durationMs).toBeLessThan(waitsMs);
    expect(result.answer?.body.toString()).toBe("half");
    await server.close();
  });
});

describe("an interruption", () => {
  test.each<[string, boolean, string]>([
    ["before the request", true, ""],
    ["while the answer is awaited", false, ""],
    ["within the headers", false, "HTTP/1.1 200 OK\r\n"],
  ])("%s ends the attempt as interrupted", async (_name, isEarly, bytes) => {
    const stopping = new AbortController();
    if (isEarly) stopping.abort();
    const server = await startRawServer((socket) => {
      socket.write(bytes);
      setImmediate(() => stopping.abort());
    });
    expect(await wordOf(sendTo(server.url, { signal: stopping.signal }))).toBe("interrupted");
    expect(server.connections()).toBe(isEarly ? 0 : 1);
    await server.close();
  });
});

describe("timers", () => {
  test("are all removed when an attempt ends in any way", async () => {
    let waiting = 0;
    const wall: WallTime = {
      ...systemTime,
      after(delayMs, action) {
        waiting++;
        const cancel = systemTime.after(delayMs, () => {
          waiting--;
          action();
        });
        let isCancelled = false;
        return () => {
          if (!isCancelled) waiting--;
          isCancelled = true;
          cancel();
        };
      },
    };
    const answers: ((socket: Socket) => void)[] = [
      (socket) => socket.write(OK),
      (socket) => socket.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
      (socket) => void socket.end(),
      (socket) => void socket.resetAndDestroy(),
      (socket) => socket.write("nonsense\r\n\r\n"),
    ];
    for (const answer of answers) {
      const server = await startRawServer(answer);
      await sendTo(server.url, { wall });
      expect(waiting).toBe(0);
      await server.close();
    }
  });
});

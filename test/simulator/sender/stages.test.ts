import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type LookupFunction, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { WallTime } from "../../../simulator/domain/wall-time.ts";
import { wireHeaders } from "../../../simulator/domain/attempt-request.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { createSender } from "../../../simulator/sender/sender.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { heldResources, releasedTo, sendTo, SHORT_MS, wordOf } from "./harness.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const certificate = (name: string) =>
  readFileSync(new URL(`../../helpers/certificates/${name}.pem`, import.meta.url), "utf8");

let resourcesBefore: string[] = [];

beforeEach(() => {
  resourcesBefore = heldResources();
});

afterEach(async () => {
  await releasedTo(resourcesBefore);
});

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
    resourcesBefore = heldResources();
  });

  test("in the TLS handshake", async () => {
    const server = await startRawServer(() => {}, { onConnect: true });
    expect(await wordOf(sendTo(server.tlsUrl, { timeoutMs }))).toBe("timeout");
    await server.close();
  });

  test("in the look-up of the name", async () => {
    const lookup: LookupFunction = () => {};
    const send = createSender({ wall: systemTime, allowedHosts: [], timeoutMs, lookup });
    expect(await wordOf(send(requestFor("https://endpoint.example/")))).toBe("timeout");
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

/** Makes this process trust a certificate of the tests like those of a public authority. */
function trust(name: string): void {
  const trusted = getCACertificates("default");
  setDefaultCACertificates([...trusted, certificate(name)]);
  onTestFinished(() => setDefaultCACertificates(trusted));
}

describe("TLS", () => {
  const key = certificate("key");

  async function attempt(name: string, host = "localhost") {
    const tls = { key, cert: certificate(name) };
    const server = await startRawServer((socket) => socket.write(OK), { tls });
    const result = await sendTo(`https://${host}:${server.port}/`);
    await server.close();
    return result;
  }

  test.each(["localhost", "127.0.0.1"])("with a good certificate delivers to %s", async (host) => {
    trust("good");
    expect((await attempt("good", host)).outcome).toEqual({ status: 200 });
  });

  test.each<[string, string, RegExp]>([
    ["that nobody vouches for", "good", /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ["that has expired", "expired", /CERT_HAS_EXPIRED/],
    ["of another host", "other-host", /ERR_TLS_CERT_ALTNAME_INVALID/],
  ])("refuses a certificate %s, and says so", async (_name, name, code) => {
    if (name !== "good") trust(name);
    expect((await attempt(name)).outcome).toEqual({ error: "tls", detail: expect.stringMatching(code) });
  });

  test("fails where the other side speaks something else", async () => {
    const answer = (socket: Socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    const server = await startRawServer(answer, { onConnect: true });
    expect(await wordOf(sendTo(server.tlsUrl))).toBe("tls");
    await server.close();
  });

  test("closed in the handshake is reported as tls, a reset as reset", async () => {
    const words = [];
    for (const end of ["end", "resetAndDestroy"] as const) {
      const answer = (socket: Socket) => void socket.once("data", () => socket[end]());
      const server = await startRawServer(answer, { onConnect: true });
      words.push(await wordOf(sendTo(server.tlsUrl)));
      await server.close();
    }
    expect(words).toEqual(["tls", "reset"]);
  });
});

describe("names", () => {
  const attempt = (url: string, addresses: string[], allowedHosts: string[] = []) => {
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const lookup: LookupFunction = (_hostname, _options, callback) => callback(null, found);
    return createSender({ wall: systemTime, allowedHosts, lookup })(requestFor(url));
  };

  test("that cannot be looked up fail as dns", async () => {
    // A label of 64 characters: resolvers refuse it without a request.
    const result = await sendTo(`https://${"a".repeat(64)}.example/`);
    expect(await wordOf(result)).toBe("dns");
  });

  test("with one forbidden address are connected only at the others", async () => {
    const server = await startRawServer((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    const url = `http://localhost:${new URL(server.url).port}/`;
    // The first is not a receiver's address, and leads to this machine; nothing listens at the second.
    expect(await wordOf(await attempt(url, ["0.0.0.0", "127.0.0.3"]))).toBe("refused");
    expect((await attempt(url, ["0.0.0.0", "127.0.0.1"])).outcome).toEqual({ status: 200 });
    await server.close();
  });

  test("that point elsewhere now are not connected to", async () => {
    for (const [url, address] of [
      ["http://receiver.localhost/", "10.0.0.5"],
      ["http://localhost/", "192.168.1.1"],
      ["https://endpoint.example/", "169.254.169.254"],
      ["https://endpoint.example/", "fe80::1"],
      ["https://endpoint.example/", "::ffff:169.254.169.254"],
    ] as const) {
      const { outcome } = await attempt(url, [address]);
      expect(outcome).toMatchObject({ error: "dns", detail: expect.stringContaining(address) });
    }
  });

  test("with several addresses use the allowed ones only", async () => {
    const server = await startRawServer((socket) => socket.write(OK));
    const url = `http://receiver.localhost:${server.port}/`;
    expect(await wordOf(attempt(url, ["10.0.0.5", "127.0.0.1", "169.254.169.254"]))).toBe(200);
    await server.close();
  });

  test("of allowed hosts may point anywhere", async () => {
    const server = await startRawServer((socket) => socket.write(OK));
    const url = `http://receiver.test:${server.port}/`;
    expect(await wordOf(attempt(url, ["127.0.0.1"], ["receiver.test"]))).toBe(200);
    await server.close();
  });

  test("that are addresses are checked again: the host may no longer be allowed", async () => {
    for (const url of ["http://10.0.0.5/", "https://169.254.169.254/", "http://[fe80::1]/"]) {
      expect(await wordOf(sendTo(url))).toBe("dns");
    }
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

describe("faults on the wire", () => {
  test.each([
    ["drop-answer", "closed"],
    ["time-out", "timeout"],
  ] as const)("%s: the receiver has answered, the service does not know", async (fault, error) => {
    const server = await startRawServer((socket) => socket.write(OK));
    const result = await sendTo(server.url, { faults: new Set([fault]) });
    expect(result.outcome).toMatchObject({ error, detail: expect.stringContaining(fault) });
    await server.close();
  });

  test("slow-body: the body comes in 30 steps over 3 s, and is whole", async () => {
    const chunks: string[] = [];
    const take = (socket: Socket) =>
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk.toString());
        if (chunks.join("").endsWith('"end":1}')) socket.write(OK);
      });
    const server = await startRawServer(take, { onConnect: true });
    const waits: number[] = [];
    const wall: WallTime = {
      ...systemTime,
      after(delayMs, action) {
        if (delayMs < 1_000) {
          waits.push(delayMs);
          setImmediate(action);
        }
        return () => {};
      },
    };
    const body = Buffer.from(`{"text":"${"x".repeat(500)}","end":1}`);
    const send = createSender({ wall, allowedHosts: [] });
    const result = await send({ ...requestFor(server.url), body, faults: new Set(["slow-body"]) });
    expect(result.outcome).toEqual({ status: 200 });
    expect(waits.length).toBeGreaterThanOrEqual(29);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(3_000);
    expect(chunks.join("").endsWith(body.toString())).toBe(true);
    await server.close();
  });

  test("reset-mid-body: the receiver sees half a body and a reset, the service a broken connection", async () => {
    let bytes = "";
    let error: NodeJS.ErrnoException | undefined;
    const gone = Promise.withResolvers<void>();
    const take = (socket: Socket) =>
      socket
        .on("data", (chunk: Buffer) => (bytes += chunk.toString()))
        .on("error", (problem) => (error = problem))
        .on("close", gone.resolve);
    const server = await startRawServer(take, { onConnect: true });
    const body = Buffer.from("a".repeat(100));
    const result = await sendTo(server.url, { body, faults: new Set(["reset-mid-body"]) });
    expect(await wordOf(result)).toBe("closed");
    await gone.promise;
    expect(bytes).toMatch(/content-length: 100\r\n/i);
    expect(bytes.endsWith(`\r\n\r\n${"a".repeat(50)}`)).toBe(true);
    expect(error?.code).toBe("ECONNRESET");
    await server.close();
  });
});

test("reset-mid-body resets a connection with TLS as well, at once", async () => {
  trust("good");
  const tls = { key: certificate("key"), cert: certificate("good") };
  const server = await startRawServer(() => {}, { onConnect: true, tls });
  // TLS may report a reset differently: check the bytes on the wire.
  const gone = Promise.withResolvers<NodeJS.ErrnoException>();
  const pass = (socket: Socket) => {
    const onward = connect(server.port, "127.0.0.1");
    socket.on("error", gone.resolve).on("close", () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  };
  const wire = await startRawServer(pass, { onConnect: true });
  const faults = new Set(["reset-mid-body"] as const);
  const result = await sendTo(wire.tlsUrl, { body: Buffer.alloc(100, "a"), faults });
  expect(await wordOf(result)).toBe("closed");
  expect((await gone.promise).code).toBe("ECONNRESET");
  await wire.close();
  await server.close();
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
    const send = createSender({ wall, allowedHosts: [] });
    const answers: ((socket: Socket) => void)[] = [
      (socket) => socket.write(OK),
      (socket) => socket.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
      (socket) => void socket.end(),
      (socket) => void socket.resetAndDestroy(),
      (socket) => socket.write("nonsense\r\n\r\n"),
    ];
    for (const answer of answers) {
      const server = await startRawServer(answer);
      await send(requestFor(server.url));
      expect(waiting).toBe(0);
      await server.close();
    }
  });
});

function requestFor(url: string) {
  const body = Buffer.from("{}");
  return {
    url,
    headers: wireHeaders({ url, signature: "t=1,v1=00", body }),
    body,
    answerMeans: "headers" as const,
    faults: new Set<never>(),
    signal: new AbortController().signal,
  };
}

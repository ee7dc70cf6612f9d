import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRawServer } from "../../helpers/raw-server.ts";
import { leavesNothingOpen, OK, sendTo, wordOf } from "./harness.ts";

leavesNothingOpen();

const certificate = (name: string) =>
  readFileSync(new URL(`../../helpers/certificates/${name}.pem`, import.meta.url), "utf8");

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

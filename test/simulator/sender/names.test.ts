import type { LookupFunction } from "node:net";
import { describe, expect, test } from "vitest";
import { startRawServer } from "../../helpers/raw-server.ts";
import { leavesNothingOpen, OK, sendTo, wordOf } from "./harness.ts";

leavesNothingOpen();

describe("names", () => {
  const attempt = (url: string, addresses: string[], allowedHosts: string[] = []) => {
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const lookup: LookupFunction = (_hostname, _options, callback) => callback(null, found);
    return sendTo(url, { allowedHosts, lookup });
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

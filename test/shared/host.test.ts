import { expect, test } from "vitest";
import { hostInUrl, isWildcard, localHostInUrl } from "../../shared/server.ts";

test.each([
  { host: "localhost", wildcard: false, inUrl: "localhost", local: "localhost" },
  { host: "127.0.0.1", wildcard: false, inUrl: "127.0.0.1", local: "127.0.0.1" },
  { host: "::1", wildcard: false, inUrl: "[::1]", local: "[::1]" },
  { host: "fe80::2", wildcard: false, inUrl: "[fe80::2]", local: "[fe80::2]" },
  { host: "0.0.0.0", wildcard: true, inUrl: "0.0.0.0", local: "127.0.0.1" },
  { host: "::", wildcard: true, inUrl: "[::]", local: "[::1]" },
])("a program bound to $host is reached from its machine at $local", ({ host, wildcard, inUrl, local }) => {
  expect(isWildcard(host)).toBe(wildcard);
  expect(hostInUrl(host)).toBe(inUrl);
  expect(localHostInUrl(host)).toBe(local);
  expect(new URL(`http://${local}:3000/readyz`).port).toBe("3000");
});

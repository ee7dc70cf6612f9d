import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { GENUINE, moment } from "../../simulator/signature-recipe/recipe.ts";
import type { SentRequest } from "../../simulator/verify/delivery.ts";
import { curlFor } from "../../simulator/verify/evidence.ts";

const TYPE: [string, string] = ["Content-Type", "application/json"];

function linesOf(changes: Partial<SentRequest>): string[] {
  const curl = curlFor({
    url: "http://127.0.0.1:3000/hooks",
    headers: [["Host", "127.0.0.1:3000"], TYPE, ["Content-Length", "2"], ["Connection", "close"]],
    body: Buffer.from("{}"),
    signature: { headerName: "X-Service-Signature", recipe: { t: [moment(0)], headers: GENUINE.headers } },
    httpVersion: "1.1",
    ...changes,
  });
  return curl?.split("\n") ?? [];
}
const lastLineOf = (changes: Partial<SentRequest>): string => linesOf(changes).at(-1) ?? "none";

test("the curl of a body in pieces sends each byte once, in their order", () => {
  const lines = linesOf({ body: Buffer.from("0123456789"), pieces: { cutAt: [2, 5], pauseMs: 1 } });
  const script = `${lines[0]}\n${lines.at(-1)?.split(" | curl")[0]}`;
  expect(execFileSync("bash", ["-c", script]).toString()).toBe("0123456789");
});

/** Each option of curl with the kind of request that needs it; it must appear only there. */
test.each<[string, Partial<SentRequest>, string[]]>([
  ["an ordinary one", {}, ["-H 'Content-Type: application/json'"]],
  ["one without a type, which curl would make up", { headers: [] }, ["-H 'Content-Type:'"]],
  [
    "one with a type in small letters",
    { headers: [["content-type", "text/plain"]] },
    ["-H 'content-type: text/plain'"],
  ],
  ["HTTP/1.0", { httpVersion: "1.0" }, ["--http1.0", "-H 'Content-Type: application/json'"]],
  [
    "https, which would become HTTP/2",
    { url: "https://localhost/" },
    ["--http1.1", "-H 'Content-Type: application/json'"],
  ],
  [
    "an address of IPv6, whose brackets curl would read",
    { url: "http://[::1]:3000/" },
    ["-g", "-H 'Content-Type: application/json'"],
  ],
  ["a list in braces", { url: "http://localhost/a?b={1,2}" }, ["-g", "-H 'Content-Type: application/json'"]],
])("the curl for %s has what it needs, and no more", (_what, changes, expected) => {
  const line = lastLineOf(changes);
  const found = [...line.matchAll(/ (?:--http\S+|-g|-H '[^']*')/g)].map(([option]) => option.trim());
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(line).toMatch(/^body \| curl -sS -i -m 10 .*-H "X-Service-Signature: .*--data-binary @-/);
  expect(line.endsWith(`'${new URL(changes.url ?? "http://127.0.0.1:3000/hooks").href}'`)).toBe(true);
});

test("the curl of an address with a name and a password shows neither", () => {
  expect(lastLineOf({ url: "http://name:secret@localhost:3000/hooks" })).toMatch(
    / http:\/\/localhost:3000\/hooks$| 'http:\/\/localhost:3000\/hooks'$/,
  );
});

test.each<[string, Partial<SentRequest>]>([
  ["went out in an odd manner", { note: "The connection was cut." }],
  ["is larger than anybody reads", { body: Buffer.alloc(8_193) }],
])("there is no curl for a request that %s", (_what, changes) => {
  expect(lastLineOf(changes)).toBe("none");
});

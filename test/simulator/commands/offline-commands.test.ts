import { execFile, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { sign } from "../../../shared/signature.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { freePort } from "../../helpers/free-port.ts";
import { listen } from "../../helpers/listen.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";

const body = JSON.stringify(sampleEnvelope("call.completed", { note: "東京 🍕 é" }));
const secret = "whsec_test";

/** The header of `body`, made by openssl. */
function opensslHeader(signed: string): string {
  const output = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret, "-r"], {
    input: `1700000000.${signed}`,
  });
  return `t=1700000000,v1=${output.toString().split(" ")[0]}`;
}

test("sign: the header of a body, as openssl computes it", async () => {
  const { code, out } = await run("sign", "--body", body, "--secret", secret, "--timestamp", "1700000000");
  expect(code).toBe(0);
  expect(out).toBe(`X-Service-Signature: ${opensslHeader(body)}\n`);
});

test("sign: a file byte for byte, the secret from a file or the environment, as JSON", async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "body.json"), `${body}\n`);
  writeFileSync(join(directory, "secret"), `${secret}\n`);
  const options = ["--timestamp", "1700000000", "--json"];
  const secretFile = ["--secret", `@${join(directory, "secret")}`];
  const fromFile = await run("sign", join(directory, "body.json"), ...secretFile, ...options);
  const result = { object: "signature", header: "X-Service-Signature", timestamp: 1_700_000_000 };
  const bytes = Buffer.byteLength(body) + 1;
  expect(fromFile.json()).toEqual({ ...result, value: opensslHeader(`${body}\n`), body_bytes: bytes });
  // Saved on Windows.
  writeFileSync(join(directory, "secret"), `${secret}\r\n`);
  const again = await run("sign", "--body", body, "--secret", `@${join(directory, "secret")}`, ...options);
  expect(again.json()).toMatchObject({ value: opensslHeader(body) });
  const empty = await run("sign", "--body=", "--secret", secret, "--timestamp", "0", "--json");
  const value = sign({ body: "", secret, timestampSeconds: 0 });
  expect(empty.json()).toMatchObject({ value, timestamp: 0, body_bytes: 0 });
  process.env["SIGNING_SECRET"] = secret;
  onTestFinished(() => void delete process.env["SIGNING_SECRET"]);
  expect((await run("sign", "--body", body, ...options)).json()).toMatchObject({
    value: opensslHeader(body),
  });
});

test.each(["plain", "file", "quoted"])("sign --curl: a %s body arrives as it was signed", async (kind) => {
  const receiver = await startEndpoint();
  const text = kind === "quoted" ? `{"it's": "$HOME \\"quoted\\" \`x\`"}` : body;
  const file = join(temporaryDirectory(), "body.json");
  writeFileSync(file, text);
  const given = kind === "file" ? [file] : ["--body", text];
  const { out } = await run("sign", ...given, "--secret", secret, "--curl", receiver.url);
  await promisify(execFile)("sh", ["-c", out]);
  const [request] = receiver.received;
  expect(request?.body.toString()).toBe(text);
  expect(request?.headers["content-type"]).toBe("application/json");
  const header = ["--secret", secret, "--header", request?.signature ?? ""];
  expect((await run("explain", "--body", text, ...header)).code).toBe(0);
});

test("explain: a signature that verifies exits 0", async () => {
  const header = opensslHeader(body);
  const options = ["--secret", secret, "--header", header, "--at", "1700000100"];
  const { code, out } = await run("explain", "--body", body, ...options);
  expect({ code, out }).toEqual({ code: 0, out: "The signature verifies for this body and secret.\n" });
});

test("explain: names the mistake, exits 1, and prints the same as JSON", async () => {
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  const options = ["--secret", secret, "--header", opensslHeader(body), "--at", "2023-11-14T22:13:30Z"];
  const { code, out } = await run("explain", "--body", pretty, ...options);
  expect(code).toBe(1);
  expect(out).toContain("The JSON was parsed and written again");
  expect(out).toContain("express.raw()");
  const result = {
    object: "diagnosis",
    valid: false,
    explained: true,
    findings: [{ id: "body-reserialized-compact" }],
  };
  expect((await run("explain", "--body", pretty, ...options, "--json")).json()).toMatchObject(result);
  const computed = ["--computed", "0".repeat(64)];
  const unexplained = await run("explain", "--body", body, ...options, ...computed);
  expect(unexplained.code).toBe(1);
  expect(unexplained.out).toContain("none of");
});

test("explain: if the user's digest is correct, it suggests checking the comparison, and exits with 1", async () => {
  const header = opensslHeader(body);
  const computed = header.replace(/.*v1=/, "");
  const options = ["--body", body, "--secret", secret, "--header", header, "--at", "1700000000"];
  const { code, out } = await run("explain", ...options, "--computed", computed);
  expect({ code, out }).toEqual({
    code: 1,
    out: expect.stringMatching(
      /^The signature verifies for this body and secret\.\nYour code computed the digest of the header: it is right\.\n {2}Check the comparison/,
    ),
  });
  const result = (await run("explain", ...options, "--computed", computed, "--json")).json();
  expect(result).toMatchObject({
    valid: true,
    explained: true,
    findings: [{ id: "comparison" }],
    expected: computed,
  });
  expect((await run("explain", ...options, "--json")).json()).toMatchObject({ valid: true, findings: [] });
});

test("explain: a secret file is read with its line break, which may be the mistake", async () => {
  const file = join(temporaryDirectory(), "secret");
  writeFileSync(file, `${secret}\n`);
  const options = ["--header", opensslHeader(body), "--at", "1700000000", "--json"];
  expect((await run("explain", "--body", body, "--secret", `@${file}`, ...options)).json()).toMatchObject({
    findings: [{ id: "secret-trimmed" }],
  });
});

test.each([
  [["sign", "--body", "x"], "No signing secret: give it with --secret"],
  [["sign", "nothing.json", "--secret", "s"], "Cannot read nothing.json: there is no such file."],
  [["sign", "a.json", "--body", "x", "--secret", "s"], "Give the body once"],
  [["sign", "--body", "x", "--secret", "@nothing"], "there is no such file"],
  [["sign", "--body", "x", "--secret", "s", "--timestamp", "soon"], "Give a whole number"],
  [["sign", "--body", "x", "--secret", "s", "--curl", "here"], "Give a full URL"],
  [["explain", "--body", "x", "--secret", "s"], "required option '--header <value>' not specified"],
  [["explain", "--body", "x", "--secret", "s", "--header", "t=1", "--at", "noon"], "Give Unix seconds"],
  [["doctor", "--port", "0"], "Give a whole number from 1 to 65535"],
  [["readings", "lst"], 'Did you mean "list"?'],
  [["verify", "ftp://x", "--secret", "s"], "ftp:// is not a web address: use https://"],
  [["verify", "http://a:b@localhost:1/", "--secret", "s"], "Remove the user name and password from the URL"],
  [["verify", "http://localhost:1/#x", "--secret", "s"], "Remove the #fragment from the URL"],
  [["verify", "http://localhost:0/", "--secret", "s"], "Port 0 is not valid"],
  [["verify", "http://localhost:1/", "--secret", "a b"], "--secret: a signing secret has"],
  [["load", "http://localhost:1/", "--secret", " "], "--secret: a signing secret has"],
])("%j is wrong usage, in one line", async (args, message) => {
  const { code, out, err } = await run(...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("openapi: prints the document, on one line for programs", async () => {
  const printed = await run("openapi");
  const document = JSON.parse(printed.out) as { openapi: string; webhooks: object };
  expect(document.openapi).toMatch(/^3\.1/);
  expect(Object.keys(document.webhooks)).toContain("voicemail.created");
  expect((await run("openapi", "--json")).json()).toEqual(document);
});

test("doctor: one line when all is well, whether the port is free or has a simulator", async () => {
  const { code, out } = await run("doctor", "--port", String(await freePort()));
  expect(out).toMatch(/^All is well: SQLite loads in Node\.js .*; port \d+ is free\.\n$/);
  expect(code).toBe(0);
  const { simulator } = await startService();
  const { port } = new URL(simulator.url);
  expect((await run("doctor", "--port", port, "--json")).json()).toMatchObject({
    ok: true,
    checks: [{ name: "database" }, { name: "port", message: `a simulator answers at port ${port}` }],
  });
});

test("doctor: one line for a problem, with the fix, and exit code 1", async () => {
  const other = await startEndpoint(404);
  const { code, out } = await run("doctor", "--port", String(other.port));
  expect(code).toBe(1);
  expect(out).toMatch(/^port {2}Port \d+ is taken by another program: stop it.*\n$/);
});

test("health: only a 200 with the document of a simulator says that one answers", async () => {
  let status = 200;
  let body = '{"servers":[{"description":"This simulator"}]}';
  const { url } = await listen(createServer((_, response) => void response.writeHead(status).end(body)));
  expect(await run("health", "--simulator", url)).toMatchObject({ code: 0, out: "ready\n", err: "" });
  expect((await run("health", "--simulator", url, "--json")).json()).toEqual({
    object: "health",
    ready: true,
  });
  const none = { code: 3, out: "", err: `No simulator answers at ${url}.\n` };
  for (status of [201, 302, 401, 404, 500, 503])
    expect(await run("health", "--simulator", url)).toMatchObject(none);
  [status, body] = [200, "{}"];
  expect(await run("health", "--simulator", url)).toMatchObject(none);
});

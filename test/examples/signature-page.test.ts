import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { verify } from "../../shared/signature.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { ROOT } from "../repository/files.ts";
import { isHere, type Language, LANGUAGES, MISSING_TOOLS, signaturePage, snippet } from "./languages.ts";

const page = signaturePage();
const vectorSchema = z.looseObject({
  name: z.string(),
  accepted: z.boolean(),
  now: z.int(),
  secrets: z.array(z.string()),
  headers: z.array(z.string()),
  body: z.base64(),
});

/** The vectors with one header: frameworks join two headers, or keep one of them. */
const vectors = z
  .looseObject({ vectors: z.array(vectorSchema) })
  .parse(JSON.parse(readFileSync(`${ROOT}test/vectors/signature.json`, "utf8")))
  .vectors.filter(({ headers }) => headers.length <= 1);

/** Correctly signed headers in a form that the service never writes: our receiver refuses them, the page's code may not. */
const REFUSED_BY_THE_RECEIVER_ALONE = [
  "nine v1|t twice|t with a leading zero|t of 16 digits|one good v1 beside a malformed one",
  "a comma at the end|a comma at the beginning|a pair without =|a pair without a key|1,025 characters",
].flatMap((names) => names.split("|"));

const folder = mkdtempSync(join(tmpdir(), "signature-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe.concurrent("the code on the signature page", () => {
  for (const language of ALL ? LANGUAGES : LANGUAGES.slice(0, 1)) {
    const isAbsent = !isHere(language);
    if (isAbsent) {
      process.stdout.write(
        `skipped: the signature in ${language.name}, since there is no ${language.probe[0]} here\n`,
      );
    }
    test.skipIf(isAbsent)(`in ${language.name} decides as the vectors do`, async ({ expect }) => {
      const verdicts = await ask(language);
      expect(verdicts).toHaveLength(vectors.length);
      const otherwise = vectors.filter(({ accepted }, index) => verdicts[index] !== accepted);
      expect(otherwise.map(({ name }) => name)).toEqual(REFUSED_BY_THE_RECEIVER_ALONE);
    });
  }

  for (const tool of MISSING_TOOLS)
    process.stdout.write(`skipped: the signature in a shell, since there is no ${tool} here\n`);
  test.skipIf(MISSING_TOOLS.length > 0)(
    "for curl and openssl sends what the receiver accepts",
    async ({ expect }) => {
      const secret = String.raw`whsec_$HOME 'and' "more" \n`;
      for (const body of ["{}", '{"name":"Žofia 李 🎉", "line":\r\n"%s \\\\u0041"}\n\n', ""]) {
        expect(await sentByShell(body, secret)).toMatchObject({ body, verification: { ok: true } });
      }
    },
  );
});

describe("the signature page", () => {
  test("shows a header that is true", () => {
    const plain = vectors.find(({ name }) => name === "plain");
    expect(page).toContain(`X-Service-Signature: ${plain?.headers[0]}`);
  });
});

/** The verdict of the page's code for each vector, with any of its secrets. */
async function ask(language: Language): Promise<boolean[]> {
  const path = join(folder, language.file);
  writeFileSync(path, language.program(snippet(language.name)));
  const asked = vectors.flatMap(({ headers, body, secrets, now }, vector) =>
    secrets.map((secret) => ({ vector, header: headers[0] ?? null, body, secret, now })),
  );
  const [program, ...words] = language.command(path);
  const stdout = await run(program, words, JSON.stringify(asked));
  const answers = z.array(z.boolean()).length(asked.length).parse(JSON.parse(stdout));
  return vectors.map((_, vector) =>
    asked.some((question, index) => question.vector === vector && answers[index]),
  );
}

/** What arrives when the page's lines for a shell are run, and the receiver's verdict on it. */
async function sentByShell(body: string, secret: string) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const env = { SIGNING_SECRET: secret, URL: `http://127.0.0.1:${port}/webhooks` };
  writeFileSync(join(folder, "event.json"), body);
  const [arrived] = await Promise.all([
    arrival(server),
    run("sh", ["-c", snippet("curl and openssl")], "", env),
  ]);
  server.close();
  const { bytes, headers } = arrived;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const verification = verify({ headers, body: bytes, secrets: [secret], nowSeconds });
  return { body: bytes.toString("utf8"), verification };
}

async function arrival(server: Server): Promise<{ bytes: Buffer; headers: string[] }> {
  const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  const bytes = await buffer(request);
  response.end();
  return { bytes, headers: request.headersDistinct["x-service-signature"] ?? [] };
}

function run(
  program: string,
  words: string[],
  input: string,
  env: Record<string, string> = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(program, words, { cwd: folder, env: { ...process.env, ...env } }, (error, stdout) =>
    error === null ? resolve(stdout) : reject(error),
  );
  child.stdin?.end(input);
  return promise;
}

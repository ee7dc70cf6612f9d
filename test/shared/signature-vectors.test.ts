import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { verify } from "../../shared/signature.ts";

const FILE = new URL("../vectors/signature.json", import.meta.url);
const SCRIPT = fileURLToPath(new URL("../vectors/make-signature-vectors.sh", import.meta.url));

const { vectors } = z
  .strictObject({
    header: z.literal("X-Service-Signature"),
    tolerance_seconds: z.literal(300),
    vectors: z.array(
      z.strictObject({
        name: z.string(),
        accepted: z.boolean(),
        now: z.int(),
        secrets: z.array(z.string()),
        headers: z.array(z.string()),
        body: z.base64(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(FILE, "utf8")));

const hasOpenssl = process.platform === "linux" && spawnSync("openssl", ["version"]).status === 0;

describe("the signature vectors, made with another tool", () => {
  test.each(vectors)("$name: accepted $accepted", ({ accepted, now, secrets, headers, body }) => {
    const verification = verify({ headers, body: Buffer.from(body, "base64"), secrets, nowSeconds: now });
    expect(verification.ok).toBe(accepted);
  });

  test("have a name each, and both verdicts", () => {
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
    expect(vectors.filter(({ accepted }) => accepted).length).toBeGreaterThan(20);
    expect(vectors.filter(({ accepted }) => !accepted).length).toBeGreaterThan(30);
  });

  test.skipIf(!hasOpenssl)("are what their script writes (needs openssl)", () => {
    expect(execFileSync("sh", [SCRIPT], { encoding: "utf8" })).toBe(readFileSync(FILE, "utf8"));
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { verify } from "../../shared/signature.ts";

const FILE = new URL("../vectors/signature.json", import.meta.url);

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

describe("the signature vectors, made with another tool", () => {
  test.each(vectors)("$name: accepted $accepted", ({ accepted, now, secrets, headers, body }) => {
    const verification = verify({ headers, body: Buffer.from(body, "base64"), secrets, nowSeconds: now });
    expect(verification.ok).toBe(accepted);
  });

  test("each have a name, and include both verdicts", () => {
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
    expect(vectors.filter(({ accepted }) => accepted).length).toBeGreaterThan(20);
    expect(vectors.filter(({ accepted }) => !accepted).length).toBeGreaterThan(30);
  });
});

import { array, assert, property, string, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import { EVENT_TYPES, envelopeSchema } from "../../../shared/events.ts";
import { sign, verify } from "../../../shared/signature.ts";
import { createRequests, createSigner } from "../../../simulator/load/requests.ts";

const SECRET = "whsec_load";
const RUN = "0123456789abcdef";

test("the fast signature is the signature, for any secret and body", () => {
  const bodies = array(uint8Array({ minLength: 40, maxLength: 40 }), { minLength: 1, maxLength: 3 });
  assert(
    property(string({ maxLength: 150 }), bodies, (secret, several) => {
      const signer = createSigner({ secret, signedBytes: 51 });
      for (const body of several) {
        signer.signed.write("1700000000.", "latin1");
        signer.signed.set(body, 11);
        expect(`t=1700000000,v1=${signer.digest()}`).toBe(
          sign({ body, secret, timestampSeconds: 1_700_000_000 }),
        );
      }
    }),
    { numRuns: 300 },
  );
});

test.each([0, 1, 63, 64, 65, 98, 200])("the fast signature with a secret of %i characters", (length) => {
  const secret = "s".repeat(length);
  const signer = createSigner({ secret, signedBytes: 13 });
  signer.signed.write("1700000000.{}", "latin1");
  expect(`t=1700000000,v1=${signer.digest()}`).toBe(
    sign({ body: "{}", secret, timestampSeconds: 1_700_000_000 }),
  );
});

test("each request is a whole one, signed now, with an event of its own; the same number is the same event", () => {
  let seconds = 1_700_000_000;
  const url = new URL("http://localhost:3000/webhooks?a=1");
  const requests = createRequests({ url, secret: SECRET, runId: RUN, nowSeconds: () => seconds });
  const ids = new Set<string>();
  for (let number = 0; number < 12; number++) {
    if (number === 6) seconds += 1;
    const text = requests.bytes(number).toString();
    const [head = "", body = ""] = text.split("\r\n\r\n");
    expect(head).toMatch(/^POST \/webhooks\?a=1 HTTP\/1\.1\r\nhost: localhost:3000\r\n/);
    expect(head).toContain(`\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`);
    const [, signature = ""] = /x-service-signature: (\S+)/.exec(head) ?? [];
    expect(
      verify({ headers: [signature], body: Buffer.from(body), secrets: [SECRET], nowSeconds: seconds }),
    ).toMatchObject({
      ok: true,
      timestampSeconds: seconds,
    });
    const envelope = envelopeSchema.parse(JSON.parse(body));
    expect(envelope).toMatchObject({ type: EVENT_TYPES[number % EVENT_TYPES.length], created: seconds });
    expect(requests.bytes(number).toString()).toBe(text);
    ids.add(envelope.id);
  }
  expect(ids.size).toBe(12);
});

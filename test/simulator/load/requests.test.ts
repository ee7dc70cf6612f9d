import { assert, nat, property, string } from "fast-check";
import { expect, test } from "vitest";
import { EVENT_TYPES, envelopeSchema } from "../../../shared/events.ts";
import { sign, verify } from "../../../shared/signature.ts";
import { createRequests } from "../../../simulator/load/requests.ts";

const SECRET = "whsec_load";
const RUN = "0123456789abcdef";

test("a request is signed as every delivery is, for any secret", () => {
  const url = new URL("http://localhost:3000/");
  assert(
    property(string({ maxLength: 150 }), nat(), (text, number) => {
      // A blank secret is not accepted.
      const secret = `s${text}`;
      const requests = createRequests({ url, secret, runId: RUN, nowSeconds: () => 1_700_000_000 });
      const [head = "", body = ""] = requests.bytes(number).toString().split("\r\n\r\n");
      expect(head).toContain(
        `\r\nx-service-signature: ${sign({ body, secret, timestampSeconds: 1_700_000_000 })}\r\n`,
      );
    }),
    { numRuns: 100 },
  );
});

test("each request is complete, signed now, with its own event; the same number makes the same event", () => {
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
    ).toMatchObject({ ok: true, timestampSeconds: seconds });
    const envelope = envelopeSchema.parse(JSON.parse(body));
    expect(envelope).toMatchObject({ type: EVENT_TYPES[number % EVENT_TYPES.length], created: seconds });
    expect(requests.bytes(number).toString()).toBe(text);
    ids.add(envelope.id);
  }
  expect(ids.size).toBe(12);
});

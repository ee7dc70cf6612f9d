import { gzipSync } from "node:zlib";
import type { Check } from "../check.ts";
import type { Deliverable, DeliverOptions } from "../delivery.ts";
import { refuses } from "../judge.ts";
import { RULES } from "../rules.ts";

const HOOK_HINT =
  "Verify in the route itself, over whatever body there is: a hook of a body parser runs only for the requests that it parses, " +
  "and what it passes over arrives unverified.";

/** Whether forgeries are refused in every form: a hook that verifies JSON alone lets the others in. */
export const formSignatureChecks: Check[] = [
  forged("text-plain", "refuses a forged body under text/plain", {
    headers: [["Content-Type", "text/plain"]],
  }),
  forged("no-type", "refuses a forged body without Content-Type", { headers: [] }),
  forged("form-encoded", "refuses a forged body under the type of a form", {
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
  }),
  forged("chunked", "refuses a forged body in chunks", { chunked: true }),
  forged("gzip", "refuses a forged body that is compressed", {
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Encoding", "gzip"],
    ],
    body: (body) => gzipSync(body),
  }),
  forged("empty", "refuses a forged delivery without body", { body: () => Buffer.alloc(0) }),
];

type Form = Pick<DeliverOptions, "headers" | "chunked"> & { body?: (body: Buffer) => Deliverable };

function forged(name: string, title: string, { body, ...form }: Form): Check {
  return refuses(
    "signature",
    {
      id: `signature.forged-${name}`,
      title,
      level: "must",
      spec: RULES.forged,
      hint: HOOK_HINT,
      phase: "alone",
    },
    ({ deliver, event }) => {
      const make = (): Deliverable => {
        const envelope = event();
        return body === undefined ? envelope : body(Buffer.from(JSON.stringify(envelope)));
      };
      return Promise.all([
        deliver(make(), { ...form, secret: "not-the-secret", forged: true }),
        deliver(make(), { ...form, signature: [], forged: true }),
      ]);
    },
  );
}

import { signingKey, verify, type SignatureProblem } from "../../shared/signature.ts";
import type { Clock } from "../clock.ts";
import type { Acceptance, Unavailable } from "../store/port.ts";
import { parseEnvelope } from "./envelope.ts";
import type { GroupCommit } from "./group-commit.ts";

/** A delivery before it is verified. */
export type Delivery = {
  /** Every value of the signature header by itself, not joined. */
  signatures: readonly string[];
  body: Uint8Array;
};

/** The result of a delivery. `stored` and `duplicate` mean that the event is on disk, synced. */
export type Receipt =
  | ({ kind: "stored" | "duplicate"; id: string; type: string; secretIndex: number } & Pick<
      Acceptance,
      "differs"
    >)
  | { kind: "invalid_signature"; reason: SignatureProblem }
  | { kind: "invalid_json" | "invalid_event"; message: string }
  | { kind: "unavailable"; reason: Unavailable; detail: string };

export type Inbox = (delivery: Delivery) => Promise<Receipt>;

/**
 * Takes a delivery into the inbox: verify, parse, store; in this order, so that nothing of an unsigned body is parsed.
 * Knows nothing of HTTP. Call it as soon as the body is complete: the 8 s to store it are counted from then.
 */
export function createInbox(options: {
  secrets: readonly string[];
  clock: Clock;
  store: GroupCommit;
}): Inbox {
  const secrets = options.secrets.map(signingKey);

  return async ({ signatures, body }) => {
    const nowSeconds = Math.floor(options.clock.nowMs() / 1_000);
    const signature = verify({ headers: signatures, body, secrets, nowSeconds });
    if (!signature.ok) return { kind: "invalid_signature", reason: signature.reason };

    const parsed = parseEnvelope(body);
    if (!parsed.ok) return { kind: parsed.error, message: parsed.message };

    const { id, type, objectId, envelope } = parsed;
    const stored = await options.store({ id, type, objectId, source: "webhook", body, envelope });
    if (!stored.ok) return { kind: "unavailable", reason: stored.reason, detail: stored.detail };

    const { duplicate, ...differs } = stored.acceptance;
    const { secretIndex } = signature;
    return { kind: duplicate ? "duplicate" : "stored", id, type, secretIndex, ...differs };
  };
}

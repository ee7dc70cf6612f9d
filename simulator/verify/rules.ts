/** A rule for receivers, its section in the specification, and our page that explains it. */
export type Rule = { section: string; page: string; text: string };

/** The rules that the checks refer to: name, section, page and words. */
const TABLE = `
answer | §6 Receiver expectations | service.md#answering | Answer 2xx within 10 seconds; do heavy work afterwards.
envelope | §6 Delivery | service.md#a-delivery | Each event is an HTTP POST whose JSON body is the envelope id, type, created, api_version, data, org_id.
types | §6 Event types | service.md#event-types | An endpoint without a selection receives events of every type.
test | §6 Registration | service.md#event-types | A test action sends a synthetic call.completed event.
orderShape | §6 Event types | service.md#what-is-left-open | The shape of order and booking objects is not stated, so a receiver may require none.
header | §6 Signature | signature.md#what-must-be-there | Every POST carries X-Service-Signature: t=<unix_seconds>,v1=<hex_digest> (comma-separated key=value pairs).
signedString | §6 Signature, rule 1 | signature.md#what-is-signed | The signed string is the value of t, a period, then the raw request body exactly as received.
digest | §6 Signature, rule 2 | signature.md#the-digest | v1 is the lowercase hexadecimal HMAC-SHA256 of the signed string, keyed with the signing secret.
compare | §6 Signature, rule 3 | signature.md#comparing | Compare the signature in constant time, as a whole.
missing | §6 Signature, rule 4 | signature.md#what-must-be-there | Reject when t or v1 is missing.
tolerance | §6 Signature, rule 5 | signature.md#the-window | Reject when the absolute difference between the current time and t exceeds 300 seconds.
duplicates | §6 Receiver expectations | service.md#duplicates | The same event (same id) may arrive more than once; de-duplicate by id.
retries | §6 Retry policy | service.md#attempts | A delivery that fails is repeated with the same id up to six times, the last one 14 h 36 min after the first.
evolution | §9 Versioning | service.md#what-may-change | Adding fields is not a breaking change; clients must ignore unknown fields.
openValues | §2 Gaps | service.md#what-is-left-open | The sets of values of outcome, status, reason and the like are not complete; others may appear.
nullable | §2 Resources | service.md#what-may-be-null | Fields marked nullable may be null.
unstatedForm | §2 call | service.md#what-is-left-open | The form of transfer_to and transfer_succeeded, when not null, is not stated.
http | §6 Delivery; RFC 9110, RFC 9112 | service.md#a-delivery | A delivery is an HTTP request, in any TCP segments and after anything else on the connection.
robust | §6 Receiver expectations | service.md#answering | Deliveries are answered 2xx within 10 seconds, also while others send garbage.
once | §6 Receiver expectations | service.md#duplicates | A 2xx ends the retries, so each acknowledged event is handled: once, since it is de-duplicated by id.
forged | §5 Authentication, rule 5 | signature.md#what-a-signature-proves | Deliveries are authenticated by their signature; without a valid one it is no event.
`;

const rules = TABLE.trim()
  .split("\n")
  .map((line): [string, Rule] => {
    const [name = "", section, page, text = ""] = line.split(" | ");
    return [name, { section: `SPEC ${section}`, page: `docs/${page}`, text }];
  });

export const RULES: ReadonlyMap<string, Rule> = new Map(rules);

export function ruleOf(name: string): Rule {
  const rule = RULES.get(name);
  if (rule === undefined) throw new Error(`There is no rule ${name}.`);
  return rule;
}

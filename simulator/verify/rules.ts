/** A rule that a receiver is held to, where it stands in the specification, and on which page of ours it is explained. */
export type Rule = { section: string; page: string; text: string };

/** The rules that the checks refer to, in the words of the report. */
export const RULES = {
  answer: {
    section: "SPEC §6 Receiver expectations",
    page: "docs/service.md#answering",
    text: "Answer 2xx within 10 seconds; do heavy work afterwards.",
  },
  envelope: {
    section: "SPEC §6 Delivery",
    page: "docs/service.md#a-delivery",
    text: "Each event is an HTTP POST whose JSON body is the envelope id, type, created, api_version, data, org_id.",
  },
  types: {
    section: "SPEC §6 Event types",
    page: "docs/service.md#event-types",
    text: "An endpoint without a selection receives events of every type.",
  },
  test: {
    section: "SPEC §6 Registration",
    page: "docs/service.md#event-types",
    text: "A test action sends a synthetic call.completed event.",
  },
  orderShape: {
    section: "SPEC §6 Event types",
    page: "docs/service.md#what-is-left-open",
    text: "The shape of order and booking objects is not stated, so a receiver may require none.",
  },
  header: {
    section: "SPEC §6 Signature",
    page: "docs/signature.md#what-must-be-there",
    text: "Every POST carries X-Service-Signature: t=<unix_seconds>,v1=<hex_digest> (comma-separated key=value pairs).",
  },
  signedString: {
    section: "SPEC §6 Signature, rule 1",
    page: "docs/signature.md#what-is-signed",
    text: "The signed string is the value of t, a period, then the raw request body exactly as received.",
  },
  digest: {
    section: "SPEC §6 Signature, rule 2",
    page: "docs/signature.md#the-digest",
    text: "v1 is the lowercase hexadecimal HMAC-SHA256 of the signed string, keyed with the signing secret.",
  },
  compare: {
    section: "SPEC §6 Signature, rule 3",
    page: "docs/signature.md#comparing",
    text: "Compare the signature in constant time, as a whole.",
  },
  missing: {
    section: "SPEC §6 Signature, rule 4",
    page: "docs/signature.md#what-must-be-there",
    text: "Reject when t or v1 is missing.",
  },
  tolerance: {
    section: "SPEC §6 Signature, rule 5",
    page: "docs/signature.md#the-window",
    text: "Reject when the absolute difference between the current time and t exceeds 300 seconds.",
  },
  duplicates: {
    section: "SPEC §6 Receiver expectations",
    page: "docs/service.md#duplicates",
    text: "The same event (same id) may arrive more than once; de-duplicate by id.",
  },
  retries: {
    section: "SPEC §6 Retry policy",
    page: "docs/service.md#attempts",
    text: "A delivery that fails is repeated with the same id up to six times, the last one 14 h 36 min after the first.",
  },
  evolution: {
    section: "SPEC §9 Versioning",
    page: "docs/service.md#what-may-change",
    text: "Adding fields is not a breaking change; clients must ignore unknown fields.",
  },
  openValues: {
    section: "SPEC §2 Gaps",
    page: "docs/service.md#what-is-left-open",
    text: "The sets of values of outcome, status, reason and the like are not complete; others may appear.",
  },
  nullable: {
    section: "SPEC §2 Resources",
    page: "docs/service.md#what-may-be-null",
    text: "Fields marked nullable may be null.",
  },
  unstatedForm: {
    section: "SPEC §2 call",
    page: "docs/service.md#what-is-left-open",
    text: "The form of transfer_to and transfer_succeeded, when not null, is not stated.",
  },
  http: {
    section: "SPEC §6 Delivery; RFC 9110, RFC 9112",
    page: "docs/service.md#a-delivery",
    text: "A delivery is an HTTP request, however TCP cuts it up and whatever else the connection went through.",
  },
  robust: {
    section: "SPEC §6 Receiver expectations",
    page: "docs/service.md#answering",
    text: "Deliveries are answered 2xx within 10 seconds, also while somebody else sends rubbish.",
  },
  once: {
    section: "SPEC §6 Receiver expectations",
    page: "docs/service.md#duplicates",
    text: "A 2xx ends the retries, so each acknowledged event is handled: once, since it is de-duplicated by id.",
  },
  forged: {
    section: "SPEC §5 Authentication, rule 5",
    page: "docs/signature.md#what-a-signature-proves",
    text: "Deliveries are authenticated by their signature; what fails it is nobody's event.",
  },
} as const satisfies Record<string, Rule>;

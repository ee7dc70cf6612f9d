/** How to fix what only these checks meet, by a pattern for the beginning of their ids; for all others their cause says it. */
const TABLE = `
acknowledgement.last-attempt | Judge the age of a delivery by t in the signature header, never by the event's created.
acknowledgement.any-order | Judge the age of a delivery by t in the signature header, never by the event's created.
acknowledgement.after-forgery | Verify first, remember the id afterwards: otherwise anyone can block an event by sending its id.
acknowledgement.other-organization | The signing secret says whose event it is. If you serve several organizations, decide after the answer.
signature.header-name-case | HTTP header names compare without regard to case; read it through your framework's header lookup.
signature.key-order | Read the header as key=value pairs, not by position.
signature.rotation | While a secret is rotated a sender may sign with both: try every v1 before refusing.
signature.not-a-number | Take t for a number only when it is digits and nothing else: NaN is not greater than 300.
signature.trailing-garbage | Take t for a number only when it is digits and nothing else: a lenient parser stops at the first letter.
signature.second-t | Refuse a header with two t, so that the t in the signed string is the one that is held against the clock.
signature.(signed-just|past|future|stale|milliseconds|epoch) | Refuse when |now − t| is more than 300 in whole seconds, on either side; exactly 300 is still inside.
signature.(empty-(header|t|v1)|no-(t|v1)|other-scheme) | Take the header apart into key=value pairs and refuse it when t or v1 is absent or empty.
signature.empty-secret | A secret that is unset must stop the program at its start, not become an empty key.
signature.(changed-t|body-only|no-period) | Sign exactly t + "." + the raw bytes of the body, with t as it is written in the header, and compare the result.
signature.(changed-body|borrowed) | Verify each delivery over every byte of its own body, and remember no verdict for a header.
signature.(first|last|short|long|multibyte) | Compare all 32 bytes with a constant-time function, after making sure that both sides have 32.
signature.(not-hexadecimal|upper-case|base64) | Hold v1 to 64 lower-case hexadecimal digits before it is decoded.
signature.two-headers | The service sends one. Many frameworks join repeated headers or keep one of them: look at the raw header list.
signature.forged- | Verify in the route itself, over whatever body there is: a hook of a body parser runs only for the requests that it parses.
raw-bytes.(byte-order|invalid|replacement) | Compute the HMAC over the bytes, not over decoded text: decoding drops a byte order mark and folds invalid bytes into one.
raw-bytes | Verify over the raw bytes as they arrived, before any JSON parser, and never over JSON that you wrote again yourself.
duplicates.hour-between | An attempt may come hours after the event; only t in the signature header says how old the delivery is.
duplicates.same-call-two-types | De-duplicate by event id, not by call id: two events may be about one call.
evolution.empty-call | A caller who hangs up at once leaves an empty transcript and 0 seconds; do not take 0 or "" for missing.
evolution.integer-extremes | Keep integers in 64 bits; a column of 32 ends in 2038.
evolution.(long|large|very-large)-transcript | Raise the limit of your body parser (Express: 100 KB by default); a transcript has no stated limit.
evolution.upper-case-id | The id is evt_ and 32 hexadecimal characters, of either case.
evolution.other-api-version | Note it in your log, but answer 2xx: refusing it loses the event after six attempts.
wire.segmented | Read until the body is complete: one read of the socket may hold half of it, or a single byte.
wire.split-multibyte | Collect the body's buffers and join them before anything is decoded: a character may lie across two of them.
wire.slow-body | A busy proxy may take a second or two for a body; give a request some seconds before you cut it.
wire.same-connection | Leave keep-alive to your HTTP server; read a refused request's body to its end before the next is expected.
wire.forged-rubbish | Verify before you parse: a stranger may send any bytes, and none of them may reach a parser.
wire.stalled-clients | Serve connections side by side (threads, an event loop), and give a request that does not move a few seconds.
wire.(charset|no-content|other-content|http|many|expect) | Take the body from your framework as raw bytes for every request (Express: express.raw({ type: () => true })).
readings.transfer | Take transfer_to and transfer_succeeded as they come; only null is stated, and that it may be something else.
readings.(minimal|rich) | Require nothing of an order or a booking but that it is an object: its fields are not published.
readings.extra-signature-keys | Read t and v1 and leave other keys alone; a later scheme will stand beside v1.
readings.completed-last | The order of call.completed and call.transferred is not stated: let neither need the other.
readings.test-event | The dashboard's test event is synthetic: do not look its call up before you answer.
load.burst$ | Answer 503 to what you cannot take now, and take it when it is repeated; forget whatever you refused.
load.among-forgeries | Refuse a forged delivery before it costs anything, and never lock out an address for it: proxies share one.
effects.after-handling | Keep the ids of handled events: ids that are deleted with the work protect nothing.
effects.after-many-others | Remember ids in the database for as long as retries may come (14 h 36 min), not in a list of the latest.
effects.after-whole-schedule | Keep ids for longer than retries may come, a few days at least.
(effects|readings).reserialized-retry | De-duplicate by id, not by a hash of the body; verify each delivery over its own body.
(effects|readings).distinct-ids | De-duplicate by event id, not by the object's id.
effects.same-call-two-types | De-duplicate by event id, not by call id: two events may be about one call.
effects.id-case | Whether they are one event or two is not stated; compare ids in one way everywhere, and handle neither twice.
effects.(after-forgery|forged) | Verify before you store, and keep nothing of what fails: not the event, and not its id.
effects.cut-short | Handle nothing before the body is complete and verified.
crash.terminated | On SIGTERM finish what is being answered, and leave the rest stored for the next start.
`;

const HINTS = TABLE.trim()
  .split("\n")
  .map((line) => line.split(" | "))
  .map(([pattern = "", hint]) => ({ pattern: new RegExp(`^${pattern}`), hint }));

/** The fix that is special to a check, where it has one. */
export function hintFor(id: string): string | undefined {
  return HINTS.find(({ pattern }) => pattern.test(id))?.hint;
}

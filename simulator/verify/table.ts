/**
 * Every check in one line, in the order of the reports: its id, its level, when it runs, its rule, and what it asks whether
 * a receiver does. `docs/verify.md` and `verify --list` are made from it. The indented rows below a fix are the checks that
 * it is for; for all others their cause has one.
 */
export const TABLE = `
acknowledgement.call-completed      must    together  types         acknowledges call.completed
acknowledgement.call-transferred    must    together  types         acknowledges call.transferred
acknowledgement.voicemail-created   must    together  types         acknowledges voicemail.created
acknowledgement.order-created       must    together  types         acknowledges order.created
acknowledgement.booking-created     must    together  types         acknowledges booking.created
acknowledgement.prompt              advice  together  answer        answers long before the 10 seconds are over
fix: Judge the age of a delivery by t in the signature header, never by the event's created.
  acknowledgement.last-attempt        must    together  retries       acknowledges the sixth attempt, 14 h 36 min after the event
  acknowledgement.any-order           must    together  retries       acknowledges events in any order
fix: Verify first, remember the id afterwards: otherwise anyone can block an event by sending its id.
  acknowledgement.after-forgery       must    together  forged        acknowledges an event although a forged one bore its id before
fix: The signing secret says whose event it is. If you serve several organizations, decide after the answer.
  acknowledgement.other-organization  advice  together  envelope      acknowledges events whatever organization they name
fix: HTTP header names compare without regard to case; read it through your framework's header lookup.
  signature.header-name-case          must    together  http          finds the signature header whatever the case of its name
fix: Read the header as key=value pairs, not by position.
  signature.key-order                 advice  together  header        accepts v1 before t
fix: While a secret is rotated a sender may sign with both: try every v1 before refusing.
  signature.rotation                  advice  together  header        accepts several v1 of which one matches
fix: Refuse when |now − t| is more than 300 in whole seconds, on either side; exactly 300 is still inside.
  signature.signed-just-now           must    together  tolerance     accepts a delivery signed a few seconds ago or ahead
  signature.past-299                  must    stalled   tolerance     accepts a delivery signed 299 s ago
  signature.past-300                  advice  stalled   tolerance     accepts a delivery signed exactly 300 s ago
  signature.past-301                  must    stalled   tolerance     refuses a delivery signed 301 s ago
  signature.future-299                must    stalled   tolerance     accepts a t 299 s ahead of the clock
  signature.future-300                advice  stalled   tolerance     accepts a t exactly 300 s ahead of the clock
  signature.future-301                must    stalled   tolerance     refuses a t 301 s ahead of the clock
  signature.stale-hour                must    together  tolerance     refuses a delivery signed an hour ago
  signature.stale-day                 must    together  tolerance     refuses a delivery signed a day ago
  signature.future-hour               must    together  tolerance     refuses a t an hour ahead
  signature.future-decade             must    together  tolerance     refuses a t ten years ahead
  signature.milliseconds              must    together  tolerance     refuses a t in milliseconds
  signature.epoch                     must    together  tolerance     refuses a t of zero or below
fix: Take t for a number only when it is digits and nothing else: NaN is not greater than 300.
  signature.not-a-number              advice  together  tolerance     refuses a t that is not a number
fix: Take t for a number only when it is digits and nothing else: a lenient parser stops at the first letter.
  signature.trailing-garbage          advice  together  tolerance     refuses a t with something behind the digits
fix: Refuse a header with two t, so that the t in the signed string is the one that is held against the clock.
  signature.second-t                  must    together  tolerance     refuses an old delivery to which a fresh t was added
signature.missing-header            must    together  missing       refuses a delivery without signature header
fix: Take the header apart into key=value pairs and refuse it when t or v1 is absent or empty.
  signature.empty-header              must    together  missing       refuses an empty signature header
  signature.no-t                      must    together  missing       refuses a header without t
  signature.empty-t                   must    together  missing       refuses an empty t, though the rest is signed
  signature.no-v1                     must    together  missing       refuses a header without v1
  signature.empty-v1                  must    together  missing       refuses an empty v1
  signature.other-scheme              must    together  missing       refuses a right digest under another key than v1
signature.wrong-secret              must    together  digest        refuses a delivery signed with another secret
fix: A secret that is unset must stop the program at its start, not become an empty key.
  signature.empty-secret              must    together  digest        refuses a delivery signed with an empty secret
fix: Verify each delivery over every byte of its own body, and remember no verdict for a header.
  signature.changed-body              must    together  signedString  refuses a body of which one byte was changed
  signature.borrowed                  must    together  signedString  refuses the signature of another delivery before a new event
fix: Sign exactly t + "." + the raw bytes of the body, with t as it is written in the header, and compare the result.
  signature.changed-t                 must    together  signedString  refuses a t that was changed after signing
  signature.body-only                 must    together  signedString  refuses a digest over the body alone
  signature.no-period                 must    together  signedString  refuses a digest over t and body without the period
fix: Compare all 32 bytes with a constant-time function, after making sure that both sides have 32.
  signature.first-digit               must    together  compare       refuses a digest whose first digit is wrong
  signature.last-digit                must    together  compare       refuses a digest whose last digit is wrong
  signature.short-digest              must    alone     compare       refuses a digest that was cut short
  signature.long-digest               must    alone     compare       refuses a digest with more behind it
  signature.multibyte-digest          must    alone     compare       refuses a digest of characters beyond ASCII
  signature.long-header               must    alone     compare       refuses a signature header of thousands of characters
fix: Hold v1 to 64 lower-case hexadecimal digits before it is decoded.
  signature.not-hexadecimal           must    alone     digest        refuses a digest that is not hexadecimal
  signature.upper-case                advice  together  digest        refuses a digest in upper case
  signature.base64                    advice  together  digest        refuses a digest in base64
signature.refused-cleanly           advice  together  forged        answers what the service did not sign without a redirect or an error of its own
fix: The service sends one. Many frameworks join repeated headers or keep one of them: look at the raw header list.
  signature.two-headers               advice  together  header        refuses two signature headers of which one is forged
fix: Verify in the route itself, over any body: a hook of a body parser runs only for the requests that it parses.
  signature.forged-text-plain         must    alone     forged        refuses a forged body under text/plain
  signature.forged-no-type            must    alone     forged        refuses a forged body without Content-Type
  signature.forged-form-encoded       must    alone     forged        refuses a forged body under the type of a form
  signature.forged-chunked            must    alone     forged        refuses a forged body in chunks
  signature.forged-gzip               must    alone     forged        refuses a forged body that is compressed
  signature.forged-empty              must    alone     forged        refuses a forged delivery without body
fix: Verify over the raw bytes as they arrived, before any JSON parser, and never over JSON that you wrote again yourself.
  raw-bytes.pretty-printed            must    together  signedString  accepts a body with white space and line breaks
  raw-bytes.crlf                      must    together  signedString  accepts a body with CRLF line ends and tabs
  raw-bytes.key-order                 must    together  signedString  accepts a body with its keys in another order
  raw-bytes.unicode-escapes           must    together  signedString  accepts a body with escaped letters
  raw-bytes.escaped-slashes           must    together  signedString  accepts a body with escaped slashes
  raw-bytes.non-ascii                 must    together  signedString  accepts a body with letters beyond ASCII
  raw-bytes.emoji                     must    together  signedString  accepts a body with characters beyond the basic plane, plain and escaped
  raw-bytes.line-separators           must    together  signedString  accepts a body with U+2028 and U+2029 in its strings
  raw-bytes.numbers                   must    together  signedString  accepts unknown numbers written as 9.40 and 1E-7
  raw-bytes.trailing-newline          must    together  signedString  accepts a body that ends with a line break
  raw-bytes.leading-space             must    together  signedString  accepts a body that begins with white space
  raw-bytes.nul                       advice  odd       signedString  accepts a body with U+0000 in a string
  raw-bytes.big-numbers               advice  odd       signedString  accepts numbers beyond 2^53 and beyond a double
  raw-bytes.integer-as-float          advice  odd       signedString  accepts an integer written with a fraction of zero
  raw-bytes.repeated-key              advice  odd       signedString  accepts a body in which a key occurs twice
  raw-bytes.prototype-key             advice  odd       signedString  accepts a body with the keys of JavaScript's prototypes
  raw-bytes.reformatted               must    together  signedString  refuses a body that was reformatted after signing
  raw-bytes.re-escaped                must    together  signedString  refuses a body that was escaped differently after signing
  raw-bytes.newline-removed           must    together  signedString  refuses a body whose last line break was cut off
  raw-bytes.newline-added             must    together  signedString  refuses a body to which a line break was added
fix: Compute the HMAC over the bytes, not over decoded text: decoding drops a byte order mark and folds invalid bytes into one.
  raw-bytes.byte-order-mark           must    together  signedString  refuses a body to which a byte order mark was added
  raw-bytes.invalid-bytes             must    together  signedString  refuses a body in which one invalid byte was put for another
  raw-bytes.replacement-character     must    together  signedString  refuses an invalid byte in place of U+FFFD
duplicates.in-sequence              must    together  duplicates    acknowledges the same event six times in a row
duplicates.at-once                  advice  together  duplicates    acknowledges the same event arriving ten times at once
duplicates.at-once-any              must    together  duplicates    acknowledges at least one of ten copies arriving at once
duplicates.after-lost-answer        must    stalled   duplicates    acknowledges an event whose first answer was lost
fix: An attempt may come hours after the event; only t in the signature header says how old the delivery is.
  duplicates.hour-between             must    together  retries       acknowledges a duplicate of an event created an hour ago
fix: De-duplicate by event id, not by call id: two events may be about one call.
  duplicates.same-call-two-types      must    together  types         acknowledges one call under two types
duplicates.six-attempts-of-several  must    together  retries       acknowledges the attempts of several events in a jumble
evolution.unknown-envelope-field    must    together  evolution     ignores an unknown field of the envelope
evolution.unknown-data-field        advice  together  envelope      ignores an unknown field beside data.object
evolution.unknown-object-field      must    together  evolution     ignores unknown fields of the object
evolution.unknown-type              must    together  evolution     acknowledges an event type that it does not know
evolution.unknown-outcome           must    together  openValues    acknowledges a call with an outcome never seen
evolution.unknown-reason            must    together  openValues    acknowledges a voicemail with a reason never seen
evolution.unknown-language          must    together  openValues    acknowledges a call in a language never seen
evolution.null-notes                must    together  nullable      acknowledges a voicemail without notes
evolution.filled-notes              must    together  nullable      acknowledges a voicemail with notes
evolution.reviewed-voicemail        must    together  nullable      acknowledges a voicemail that was reviewed and called back
fix: A caller who hangs up at once leaves an empty transcript and 0 seconds; do not take 0 or "" for missing.
  evolution.empty-call                must    together  openValues    acknowledges a call of no length in which nothing was said
evolution.empty-strings             advice  odd       openValues    acknowledges an empty recording_url and language
fix: Keep integers in 64 bits; a column of 32 ends in 2038.
  evolution.integer-extremes          advice  odd       envelope      acknowledges a duration and a created beyond 32 bits
fix: Raise the limit of your body parser (Express: 100 KB by default); a transcript has no stated limit.
  evolution.long-transcript           must    together  envelope      acknowledges the transcript of an hour's call
  evolution.large-transcript          advice  together  envelope      acknowledges a transcript of 200 KB
  evolution.very-large-transcript     advice  together  envelope      acknowledges a transcript of 900 KB
fix: The id is evt_ and 32 hexadecimal characters, of either case.
  evolution.upper-case-id             must    together  envelope      acknowledges an event id with upper-case hexadecimal digits
fix: Log it, but answer 2xx: refusing it loses the event after six attempts.
  evolution.other-api-version         advice  together  evolution     acknowledges another api_version
wire.chunked                        advice  together  http          accepts a chunked body
fix: Take the body from your framework as raw bytes for every request (Express: express.raw({ type: () => true })).
  wire.charset                        must    together  http          accepts application/json with a charset
  wire.no-content-type                advice  together  http          accepts a body without Content-Type
  wire.other-content-type             advice  together  http          accepts a body under another Content-Type
  wire.http-1.0                       advice  together  http          accepts a request in HTTP/1.0
  wire.many-headers                   advice  together  http          accepts forty more headers
fix: Read until the body is complete: one read of the socket may hold half of it, or a single byte.
  wire.segmented                      must    stalled   http          accepts a request that arrives in many small segments
fix: Collect the body's buffers and join them before anything is decoded: a character may lie across two of them.
  wire.split-multibyte                must    stalled   http          accepts a body cut in the middle of a character
fix: A busy proxy may take a second or two for a body; give a request some seconds before you cut it.
  wire.slow-body                      advice  stalled   http          waits for a body that comes slowly
fix: Leave keep-alive to your HTTP server; read a refused request's body to its end before the next is expected.
  wire.same-connection                advice  together  http          acknowledges several deliveries over one connection
wire.reset-mid-body                 must    alone     robust        survives a connection cut in the middle of a body
wire.reset-mid-head                 must    alone     robust        survives a connection cut in the middle of the headers
wire.body-ends-early                must    alone     robust        survives a client that ends before its body is complete
wire.half-close                     must    stalled   robust        survives a client that ends its side after the request
wire.not-http                       must    alone     robust        survives bytes that are not HTTP
wire.large-head                     must    alone     robust        survives headers of 200 KB
wire.large-forgery                  must    alone     forged        refuses a forged body of 2 MB and lives on
fix: Verify before you parse: a stranger may send any bytes, and none of them may reach a parser.
  wire.forged-rubbish                 must    alone     forged        refuses forged bodies that are no events, and lives on
wire.no-json                        advice  odd       robust        survives a signed body that is not JSON
wire.no-object                      advice  odd       robust        survives signed JSON that is not an event
wire.deep-nesting                   advice  odd       robust        survives signed JSON of a hundred thousand levels
wire.invalid-utf8                   advice  odd       robust        survives a signed body that is not UTF-8
wire.odd-requests                   must    alone     robust        survives other methods and paths
fix: Serve connections side by side (threads, an event loop), and give a request that does not move a few seconds.
  wire.stalled-clients                advice  alone     robust        acknowledges deliveries while other clients hold connections open
wire.lives-on                       must    last      robust        still acknowledges deliveries at the end of the run
fix: Take transfer_to and transfer_succeeded as they come; only null is stated, and that it may be something else.
  readings.transfer-to-string         must    together  unstatedForm  accepts transfer_to as a string
  readings.transfer-to-object         must    together  unstatedForm  accepts transfer_to as an object
  readings.transfer-succeeded-string  must    together  unstatedForm  accepts transfer_succeeded as a string
  readings.transfer-failed            must    together  unstatedForm  accepts a transfer that nobody answered
fix: Require nothing of an order or a booking but that it is an object: its fields are not published.
  readings.minimal-order              must    together  orderShape    accepts an order with nothing but its kind
  readings.minimal-booking            must    together  orderShape    accepts a booking with nothing but its kind
  readings.rich-order                 must    together  orderShape    accepts an order with many fields
  readings.rich-booking               must    together  orderShape    accepts a booking with many fields
fix: Read t and v1 and leave other keys alone; a later scheme will stand beside v1.
  readings.extra-signature-keys       advice  together  header        accepts unknown keys in the signature header
fix: De-duplicate by id, not by a hash of the body; verify each delivery over its own body.
  readings.reserialized-retry         must    together  duplicates    acknowledges a retry whose body is written differently
fix: De-duplicate by event id, not by the object's id.
  readings.distinct-ids               must    together  duplicates    acknowledges one object under two event ids
fix: The order of call.completed and call.transferred is not stated: let neither need the other.
  readings.completed-last             must    together  types         acknowledges the transfer of a call before its completion
fix: The dashboard's test event is synthetic: do not look its call up before you answer.
  readings.test-event                 must    together  test          acknowledges a test event whose call the API does not know
readings.whole-answer               advice  together  answer        finishes its answer, not only the status line
fix: Answer 503 to an event that you cannot store now, keep nothing of it, and accept it when it is repeated.
  load.burst                          must    alone     retries       acknowledges each delivery of a burst, or its repetition
load.burst-at-first                 advice  alone     answer        acknowledges a burst of deliveries at the first attempt
load.one-event-storm                advice  alone     duplicates    acknowledges one event that arrives thirty times at once
fix: Refuse a forged delivery before it costs anything, and never lock out an address for it: proxies share one.
  load.among-forgeries                must    alone     robust        acknowledges honest deliveries among a flood of forged ones
load.prompt                         advice  alone     answer        answers within half of the time limit under load
effects.each-type                   must    together  once          handles an event of every type once
effects.in-sequence                 must    together  duplicates    handles an event once that arrives six times
effects.at-once                     must    together  duplicates    handles an event once that arrives ten times at once
fix: Keep the ids of handled events: ids that are deleted with the work protect nothing.
  effects.after-handling              must    together  duplicates    handles an event once whose duplicate comes after it was handled
fix: Remember ids in the database for as long as retries may come (14 h 36 min), not in a list of the latest.
  effects.after-many-others           must    alone     duplicates    handles an event once whose duplicate comes after many others
effects.lost-answer                 must    stalled   duplicates    handles an event once whose first answer was lost
fix: De-duplicate by id, not by a hash of the body; verify each delivery over its own body.
  effects.reserialized-retry          must    together  duplicates    handles an event once whose retry is written differently
fix: De-duplicate by event id, not by call id: two events may be about one call.
  effects.same-call-two-types         must    together  types         handles both events of one call
fix: De-duplicate by event id, not by the object's id.
  effects.distinct-ids                must    together  duplicates    handles two events about one object
fix: Verify before you store, and keep nothing of what fails: not the event, and not its id.
  effects.after-forgery               must    together  forged        handles an event although a forged one bore its id before
  effects.forged                      must    together  forged        never handles a forged event
fix: Handle nothing before the body is complete and verified.
  effects.cut-short                   must    alone     http          never handles an event of which only half arrived
effects.burst                       must    alone     once          handles each event of a burst once
effects.prompt                      advice  together  once          handles an event within seconds
effects.ledger                      must    last      once          handles every other event of the run as often as it acknowledged it
crash.restarts                      must    crash     once          comes back after kill -9 and acknowledges again
crash.acknowledged-survives         must    crash     once          handles an event that it acknowledged right before kill -9
crash.stored-before-answer          must    crash     once          handles every event that it acknowledged in a stream before kill -9
crash.while-handling                must    crash     once          handles no event twice that kill -9 met while events were being handled
crash.retried-after-kill            must    crash     once          handles an event once that kill -9 left unanswered and that is sent again
crash.duplicate-after-restart       must    crash     once          handles an event once whose duplicate comes after kill -9 and restart
crash.handled-before                must    crash     once          does not handle an event again that it had handled before kill -9
fix: On SIGTERM finish running requests, and leave the rest stored for the next start.
  crash.terminated                    must    crash     once          handles an event that it acknowledged right before SIGTERM
production.failed-work-retried      advice  odd       once          tries an event again whose handling failed, or shows that it gave up
production.poison-stops-nothing     advice  odd       once          handles other events while one cannot be handled
production.drains                   advice  odd       once          answers what is under way at SIGTERM, and ends within 15 s
production.full-queue-survives      advice  odd       once          handles each event of a burst once that SIGTERM and a start interrupted
production.flood-costs-no-memory    advice  odd       forged        takes a flood of large forged deliveries without growing
production.log-names-nobody         advice  odd       envelope      writes no person, no secret and no signature to its output
`;

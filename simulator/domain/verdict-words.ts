/** Why it matters that a receiver did not do right, and how to find it. */
export const WHY = {
  handledTwice:
    "The same event may arrive more than once (SPEC §6 Receiver expectations): whoever handles it twice books or charges twice. Store the event id together with the effect, in one transaction, and look for the id before the effect.",
  neverHandled:
    "A 2xx says that the event is safe with you: it will not be sent again. Look for it in your queue, and for an error in its handler.",
  forgedHandled:
    "The answer was right and the work was done all the same: verify before the event is put into your queue, not beside it.",
  honestRefused:
    "This event was signed with the endpoint's secret. Check that your receiver has this secret, and that it verifies the bytes as they came, before any parser.",
  duplicateRefused:
    "An event that you have already is to be acknowledged with a 2xx: anything else has it sent again.",
  unfamiliarRefused:
    "New fields and new types are no breaking change (SPEC §9 Versioning): acknowledge them, and ignore what you do not know.",
  tooSlow: "There was no answer within 10 seconds: answer 2xx first, and do the work afterwards.",
  refused:
    "Nobody listens at this address: look whether your receiver runs, and at which port. One that listens at ::1 alone, or inside a container, is not reached from here.",
  unknownName:
    "No address was found for this name: correct it, or wait until its DNS record is known everywhere.",
  badCertificate:
    "The certificate was not accepted, and nothing was sent: it has to be valid for this very name, not expired, signed by an authority that is known everywhere, and to come with those between.",
  cutOff:
    "Somebody took the connection and ended it without an answer: look into your receiver's log for what broke, and into that of the proxy in front of it.",
  notHttp: "What came back is no HTTP answer: something else listens there, or it expects https.",
  redirected: "A redirect is not followed: register the address behind it.",
  noSuchPath: "It is reached, but takes no POST at this path: register the path that it has.",
  failed: "Only a 2xx counts: look into your receiver's log at the time of the attempt.",
} as const;

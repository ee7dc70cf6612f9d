import { didYouMean, type Refused, refused } from "./refused.ts";

type Reading = {
  /** The choices; the default comes first. */
  choices: readonly [string, ...string[]];
  section: string;
  summary: string;
  reason: string;
};

/** Every point that the specification leaves open, as one named switch. */
export const READINGS = {
  limit_out_of_range: {
    choices: ["reject", "clamp"],
    section: "SPEC §8",
    summary:
      "A `limit` below 1 or above 100 is refused with 400 `invalid_request`, or moved to the nearest bound.",
    reason: "A refusal shows the mistake at once; a shorter page than requested can go unnoticed.",
  },
  limit_not_a_number: {
    choices: ["reject", "default"],
    section: "SPEC §8",
    summary: "A `limit` that is no whole number is refused with 400 `invalid_request`, or counts as none.",
    reason: "A refusal shows the mistake at once.",
  },
  unknown_outcome: {
    choices: ["empty", "reject"],
    section: "SPEC §4 GET /api/v1/calls",
    summary: "An unknown `outcome` matches no call, or is refused with 400 `invalid_request`.",
    reason:
      "The set of outcomes is not published as complete, so a filter cannot know which values are wrong.",
  },
  invalid_reviewed: {
    choices: ["reject", "ignore"],
    section: "SPEC §4 GET /api/v1/voicemails",
    summary:
      "A `reviewed` that is neither true nor false is refused with 400 `invalid_request`, or the list is not filtered.",
    reason: "An ignored filter returns voicemails that were not requested.",
  },
  agents_has_more: {
    choices: ["absent", "present"],
    section: "SPEC §2 list envelope",
    summary: "The list of agents has no `has_more`, or has it and it is false.",
    reason: "The field is stated for calls and voicemails only.",
  },
  single_item_paths: {
    choices: ["absent", "present"],
    section: "SPEC §4 Gaps",
    summary:
      "`GET /api/v1/calls/{id}` and `GET /api/v1/voicemails/{id}` do not exist, or answer the item or 404 `not_found`.",
    reason: "An error for a missing voicemail is shown, but no path that would give it.",
  },
  delay_counts_from: {
    choices: ["attempt_end", "attempt_start"],
    section: "SPEC §6 Retry policy",
    summary: "The delay before the next attempt counts from the end of the failed one, or from its start.",
    reason: "An attempt can only be known to have failed when it has ended.",
  },
  answer_means: {
    choices: ["headers", "full_body"],
    section: "SPEC §6 Retry policy",
    summary:
      "An endpoint has answered when its status line and headers have arrived, or when the whole body has.",
    reason: "The status decides the delivery, and the body plays no part in it.",
  },
  deliveries_at_once: {
    choices: ["many", "one"],
    section: "SPEC §6 Delivery",
    summary:
      "Several deliveries to one endpoint are under way at a time, or each waits for the answer to the one before.",
    reason: "No order is promised, and a delivery that takes 10 s must not delay all others.",
  },
  retry_body: {
    choices: ["same_bytes", "reserialized"],
    section: "SPEC §6 Delivery",
    summary: "Every attempt sends the same bytes, or the same JSON written anew.",
    reason:
      "Only the id is stated to be identical across retries; the same bytes are the simplest way to that.",
  },
  event_id_across_endpoints: {
    choices: ["same", "distinct"],
    section: "SPEC §3",
    summary: "Two endpoints receive one event under the same id, or each under an id of its own.",
    reason: "The id names the event; a delivery is one event for one endpoint.",
  },
  test_event_ignores_selection: {
    choices: ["yes", "no"],
    section: "SPEC §6 Registration",
    summary:
      "The test action sends its `call.completed` to every endpoint, or only where that type is selected.",
    reason: "A user who presses the button wants to see an event arrive.",
  },
  flag_counts: {
    choices: ["attempts", "deliveries"],
    section: "SPEC §6 Registration",
    summary: "The failure flag counts failed attempts in a row, or deliveries in a row that died.",
    reason: "Counting attempts shows a broken endpoint within minutes instead of after days.",
  },
  transfer_to_form: {
    choices: ["string", "object"],
    section: "SPEC §2 call",
    summary: "A transferred call's `transfer_to` is a phone number, or an object that has one.",
    reason: "Every other phone number of the interface is a string.",
  },
  transfer_succeeded_form: {
    choices: ["boolean", "string"],
    section: "SPEC §2 call",
    summary:
      "A transferred call's `transfer_succeeded` is true or false, or one of the words `succeeded` and `failed`.",
    reason: "The name asks a yes-or-no question, like `transferred` beside it.",
  },
  order_and_booking_shape: {
    choices: ["rich", "minimal"],
    section: "SPEC §2 Gaps",
    summary: "Orders and bookings carry plausible fields, or nothing but `object`.",
    reason: "A demonstration needs something to show; only `object` may be relied on.",
  },
  emission_order: {
    choices: ["completed_first", "completed_last"],
    section: "SPEC §6 Event types",
    summary: "`call.completed` goes out before the other event of the same call, or after it.",
    reason: "No order is stated, and none is promised by retried deliveries either.",
  },
  rotated_secret_signs: {
    choices: ["both", "new", "old"],
    section: "SPEC §6 Registration",
    summary:
      "While a rotated secret overlaps with the one before, both sign, or the new one, or the old one.",
    reason: "With two signatures a receiver can change its secret at any moment of the overlap.",
  },
  signature_extra_keys: {
    choices: ["none", "present"],
    section: "SPEC §6 Signature",
    summary: "The signature header has `t` and `v1` only, or further keys beside them.",
    reason: "The header is a list of key=value pairs of which two are named; more may join them.",
  },
} as const satisfies Record<string, Reading>;

export type ReadingName = keyof typeof READINGS;

export type Readings = { [Name in ReadingName]: (typeof READINGS)[Name]["choices"][number] };

export const DEFAULT_READINGS: Readings = complete({});

export function listReadings(): ({ name: ReadingName; default: string } & Reading)[] {
  return Object.keys(READINGS)
    .filter(isReadingName)
    .map((name) => {
      const { choices, ...described } = READINGS[name];
      return { name, choices, default: choices[0], ...described };
    });
}

export type ParsedReadings = { ok: true; readings: Readings } | Refused;

/** The default readings with `NAME=CHOICE` assignments applied; of two for one name the later counts. */
export function parseReadings(assignments: readonly string[]): ParsedReadings {
  const chosen: Record<string, string> = {};
  for (const assignment of assignments) {
    const separator = assignment.indexOf("=");
    if (separator === -1)
      return refused(`"${assignment}" is not NAME=CHOICE, such as limit_out_of_range=clamp.`);
    const name = assignment.slice(0, separator).trim();
    const choice = assignment.slice(separator + 1).trim();
    if (!isReadingName(name))
      return refused(
        `There is no reading "${name}".${didYouMean(name, Object.keys(READINGS))} "readings" lists them all.`,
      );
    const choices: readonly string[] = READINGS[name].choices;
    if (!choices.includes(choice))
      return refused(
        `The reading ${name} is ${choices.join(" or ")}, not "${choice}".${didYouMean(choice, choices)}`,
      );
    chosen[name] = choice;
  }
  return { ok: true, readings: complete(chosen) };
}

function complete(chosen: Readonly<Record<string, string>>): Readings {
  const readings: Record<string, string> = {};
  for (const [name, { choices }] of Object.entries(READINGS)) readings[name] = chosen[name] ?? choices[0];
  if (!isReadings(readings)) throw new Error("A reading has a choice that it does not offer.");
  return readings;
}

function isReadings(value: Readonly<Record<string, string>>): value is Readings {
  return Object.entries(READINGS).every(([name, { choices }]) =>
    choices.some((choice) => choice === value[name]),
  );
}

function isReadingName(name: string): name is ReadingName {
  return Object.hasOwn(READINGS, name);
}

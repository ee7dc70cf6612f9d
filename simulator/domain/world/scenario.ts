import { z } from "zod";
import { EVENT_TYPES } from "../../../shared/events.ts";
import { phoneSchema } from "../../../shared/resources.ts";
import { didYouMean } from "../suggest.ts";
import { EVENT_KINDS } from "./event-types.ts";
import { TRADE_NAMES } from "./organizations.ts";
import { LANGUAGES } from "./phrases/phrases.ts";
import afterHoursVoicemail from "./scenarios/after-hours-voicemail.json" with { type: "json" };
import busyFriday from "./scenarios/busy-friday.json" with { type: "json" };
import failedTransfer from "./scenarios/failed-transfer.json" with { type: "json" };
import orderThenComplaint from "./scenarios/order-then-complaint.json" with { type: "json" };
import outage from "./scenarios/outage.json" with { type: "json" };
import { type Refused, refused } from "../refused.ts";

const MOST_STEPS = 1_000;
/** Events of one scenario: its steps, each times its `times`. */
const MOST_HAPPENINGS = 10_000;
export const LARGEST_SCENARIO_BYTES = 256 * 1024;
const LONGEST_SECONDS = 30 * 86_400;

const callerSchema = z.strictObject({
  name: z.string().min(1).optional(),
  phone: phoneSchema.optional(),
  language: z.enum(LANGUAGES).optional(),
});

const stepSchema = z.strictObject({
  after_seconds: z
    .number()
    .min(0)
    .max(LONGEST_SECONDS)
    .describe("Seconds of schedule time after the story begins."),
  type: z.enum(EVENT_TYPES),
  organization: z
    .string()
    .describe("`restaurant`, `services` or an organization's id; where the type happens, if absent.")
    .optional(),
  caller: z.string().describe("One of the story's callers; somebody new, if absent.").optional(),
  object: z
    .record(z.string(), z.json())
    .describe(
      "Fields of the event's object; `{guest.name}` and `{guest.phone}` in its texts stand for a caller.",
    )
    .optional(),
  times: z.int().min(1).max(MOST_STEPS).default(1),
  every_seconds: z.number().min(0).max(LONGEST_SECONDS).default(60),
});

const scenarioSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected a name such as busy-friday"),
  summary: z.string().min(1),
  callers: z.record(z.string().regex(/^[a-z][a-z0-9_]*$/), callerSchema).default({}),
  steps: z.array(stepSchema).min(1).max(MOST_STEPS),
  /** For editors: where `scenario.schema.json` lies. */
  $schema: z.string().optional(),
});

/** A scenario's file as a JSON schema, for editors that complete and check what one writes. */
export function scenarioJsonSchema() {
  return { title: "A scenario of the simulator", ...z.toJSONSchema(scenarioSchema, { io: "input" }) };
}

export type Scenario = z.infer<typeof scenarioSchema>;

export type ScenarioStep = Scenario["steps"][number];

export type ParsedScenario = { ok: true; scenario: Scenario } | Refused;

/** How many events the steps make: each that is not about the end of a call brings its call's `call.completed` along. */
export function eventsOf(steps: readonly ScenarioStep[]): number {
  return steps.reduce((sum, { type, times }) => sum + (type === "call.completed" ? times : 2 * times), 0);
}

/** What stands for a caller of the story in a text. */
export const PLACEHOLDER = /\{([a-z][a-z0-9_]*)\.(name|phone)\}/g;

/** Reads a scenario; the message says where it is wrong and what fits there. */
export function parseScenario(json: unknown): ParsedScenario {
  const bytes = Buffer.byteLength(JSON.stringify(json) ?? "");
  if (bytes > LARGEST_SCENARIO_BYTES)
    return refused(`The scenario has ${bytes} bytes as JSON, and ${LARGEST_SCENARIO_BYTES} at most.`);
  const parsed = scenarioSchema.safeParse(json);
  if (!parsed.success) return refused(parsed.error.issues.map(explain).join(" "));
  const { callers, steps } = parsed.data;
  const happenings = steps.reduce((sum, { times }) => sum + times, 0);
  if (happenings > MOST_HAPPENINGS) {
    return refused(
      `steps: with their times they are ${happenings} happenings, and a scenario has ${MOST_HAPPENINGS} at most.`,
    );
  }
  const misplaced = steps.findIndex(({ type, organization }) => {
    const { trade } = EVENT_KINDS[type];
    return trade !== undefined && organization !== trade && TRADE_NAMES.some((name) => name === organization);
  });
  const { type, organization = "" } = steps[misplaced] ?? {};
  if (type !== undefined)
    return refused(
      `steps[${misplaced}]: ${type} does not happen at ${organization}, but at ${EVENT_KINDS[type].trade}.`,
    );
  const names = Object.keys(callers);
  for (const [index, { caller, object = {} }] of steps.entries()) {
    const inTexts = Array.from(JSON.stringify(object).matchAll(PLACEHOLDER), ([, name = ""]) => name);
    const told = caller === undefined ? inTexts : [caller, ...inTexts];
    const unknown = told.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const known = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
      return refused(
        `steps[${index}]: "${unknown}" is not one of the story's callers; ${known}.${didYouMean(unknown, names)}`,
      );
    }
  }
  return { ok: true, scenario: parsed.data };
}

function explain(issue: z.core.$ZodIssue): string {
  const place = issue.path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const where = place === "" ? "The scenario" : place.replace(/^\./, "");
  if (issue.code !== "unrecognized_keys") return `${where}: ${issue.message}.`;
  const known = Object.keys((issue.path[0] === "steps" ? stepSchema : scenarioSchema).shape);
  const [key = ""] = issue.keys;
  return `${where}: there is no "${key}" here; there are ${known.join(", ")}.${didYouMean(key, known)}`;
}

export const SCENARIOS: readonly Scenario[] = [
  afterHoursVoicemail,
  busyFriday,
  failedTransfer,
  orderThenComplaint,
  outage,
].map(shipped);

function shipped(json: unknown): Scenario {
  const parsed = parseScenario(json);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.scenario;
}

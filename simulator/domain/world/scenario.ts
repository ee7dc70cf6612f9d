import { EVENT_TYPES, type EventType, phoneSchema } from "../../../shared/events.ts";
import { didYouMean, plainMessage, type Refused, refused } from "../refused.ts";
import { TRADE_NAMES, type Business, chooseBusiness, USUAL_LANGUAGE } from "./organizations.ts";
import { LANGUAGES } from "./phrases/phrases.ts";
import afterHoursVoicemail from "./scenarios/after-hours-voicemail.json" with { type: "json" };
import busyFriday from "./scenarios/busy-friday.json" with { type: "json" };
import failedTransfer from "./scenarios/failed-transfer.json" with { type: "json" };
import orderThenComplaint from "./scenarios/order-then-complaint.json" with { type: "json" };
import outage from "./scenarios/outage.json" with { type: "json" };
import { z } from "zod";
import { createRandom } from "../random.ts";
import { EVENT_KINDS } from "./event-types.ts";
import { type Caller, callerOf, pickCaller } from "./callers.ts";
import type { HappenOptions } from "./happenings.ts";

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
    .describe("`restaurant`, `services` or an organization's id; the first that has the type, if absent.")
    .optional(),
  caller: z.string().describe("One of the story's callers; a new one, if absent.").optional(),
  object: z
    .record(z.string(), z.json())
    .describe(
      "Fields of the event's object; `{guest.name}` and `{guest.phone}` in its texts are replaced by a caller's.",
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

/** The JSON schema of a scenario's file, for completion and checks in editors. */
export function scenarioJsonSchema() {
  return { title: "A scenario of the simulator", ...z.toJSONSchema(scenarioSchema, { io: "input" }) };
}

export type Scenario = z.infer<typeof scenarioSchema>;

export type ScenarioStep = Scenario["steps"][number];

export type ParsedScenario = { ok: true; scenario: Scenario } | Refused;

/** How many events the steps make: each step that does not end a call also emits its call's `call.completed`. */
export function eventsOf(steps: readonly ScenarioStep[]): number {
  return steps.reduce((sum, { type, times }) => sum + (type === "call.completed" ? times : 2 * times), 0);
}

/** The placeholder for a caller of the story in a text. */
export const PLACEHOLDER = /\{([a-z][a-z0-9_]*)\.(name|phone)\}/g;

/** Reads a scenario; a refusal says where it is wrong and what is valid there. */
export function parseScenario(json: unknown): ParsedScenario {
  const bytes = Buffer.byteLength(JSON.stringify(json) ?? "");
  if (bytes > LARGEST_SCENARIO_BYTES)
    return refused(`The scenario has ${bytes} bytes as JSON; ${LARGEST_SCENARIO_BYTES} are the maximum.`);
  const parsed = scenarioSchema.safeParse(json);
  if (!parsed.success) return refused(parsed.error.issues.map(explain).join(" "));
  const { callers, steps } = parsed.data;
  const happenings = steps.reduce((sum, { times }) => sum + times, 0);
  if (happenings > MOST_HAPPENINGS)
    return refused(
      `steps: with their times they are ${happenings} happenings; ${MOST_HAPPENINGS} are the maximum.`,
    );
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
    const used = caller === undefined ? inTexts : [caller, ...inTexts];
    const unknown = used.find((name) => !names.includes(name));
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
  if (issue.code !== "unrecognized_keys") return `${where}: ${plainMessage(issue)}.`;
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

/** What happens `afterMs` of schedule time after the scenario begins; plain data that can be stored. */
export type PlannedStep = HappenOptions & { afterMs: number; type: EventType; orgId: string };

export type PlannedSteps = { ok: true; steps: PlannedStep[] } | Refused;

/** The steps of one run of a scenario by time. A caller who appears twice is the same person; `number` makes runs differ. */
export function planSteps(options: {
  scenario: Scenario;
  businesses: readonly Business[];
  seed: number;
  number: number;
}): PlannedSteps {
  const { scenario, businesses, seed, number } = options;
  const random = createRandom(seed, "scenario", scenario.name, number);
  const cast = new Map<string, Caller>();
  const steps: PlannedStep[] = [];

  for (const [index, step] of scenario.steps.entries()) {
    const chosen = chooseBusiness(businesses, {
      type: step.type,
      trade: EVENT_KINDS[step.type].trade,
      orgId: orgIdOf(businesses, step),
    });
    if (!chosen.ok) return refused(`steps[${index}]: ${chosen.message}`);
    const { business } = chosen;
    const caller = step.caller === undefined ? undefined : callerNamed(step.caller, business);
    for (let time = 0; time < step.times; time += 1) {
      steps.push({
        afterMs: (step.after_seconds + time * step.every_seconds) * 1000,
        type: step.type,
        orgId: business.organization.id,
        caller,
        object: step.object && fieldsSchema.parse(fill(step.object, business)),
      });
    }
  }
  return { ok: true, steps: steps.toSorted((left, right) => left.afterMs - right.afterMs) };

  /** The caller with that name: chosen at the first appearance, then always the same. */
  function callerNamed(name: string, business: Business): Caller {
    const met = cast.get(name);
    if (met !== undefined) return met;
    const given = scenario.callers[name] ?? {};
    const language = given.language ?? USUAL_LANGUAGE;
    const made =
      given.phone === undefined
        ? pickCaller({ seed, random, business, language })
        : callerOf({ seed, business, phone: given.phone });
    const caller = { ...made, language: given.language ?? made.language, name: given.name ?? made.name };
    cast.set(name, caller);
    return caller;
  }

  function fill(value: unknown, business: Business): unknown {
    if (typeof value === "string")
      return value.replaceAll(PLACEHOLDER, (_, name: string, field: string) => {
        const caller = callerNamed(name, business);
        return field === "name" ? caller.name : caller.phone;
      });
    if (Array.isArray(value)) return value.map((inner) => fill(inner, business));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner, business)]));
  }
}

const fieldsSchema = z.record(z.string(), z.unknown());

function orgIdOf(businesses: readonly Business[], { organization }: ScenarioStep): string | undefined {
  return businesses.find(({ trade }) => trade === organization)?.organization.id ?? organization;
}

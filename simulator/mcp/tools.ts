import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { DELIVERY_STATES } from "../domain/outcome.ts";
import { EVENT_TYPES } from "../../shared/events.ts";
import { answer, answerText, type Answer } from "./answer.ts";
import { docsPage, docsPages } from "./docs.ts";

/** The simulator that the tools speak to, by its control API and by nothing else. */
export type Control = {
  get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.infer<Schema>>;
  post<Schema extends z.ZodType>(path: string, body: unknown, schema: Schema): Promise<z.infer<Schema>>;
};

/** A tool: what an assistant is told of it, and what it does. Its input has been checked against `input`. */
export type Tool = {
  name: string;
  description: string;
  input: z.ZodObject;
  run: (input: unknown) => Promise<Answer>;
};

const MOST_LISTED = 50;
const MOST_EVENTS = 100;
const LONGEST_WAIT_SECONDS = 120;
const POLL_EVERY_MS = 250;
const LONGEST_ADVANCE_SECONDS = 366 * 86_400;

const id = z.string().min(1).max(100);

const deliveriesInput = z.strictObject({
  state: z.enum(DELIVERY_STATES).optional(),
  event_id: id.optional(),
  endpoint_id: id.optional(),
  limit: z.int().min(1).max(MOST_LISTED).default(10).describe("newest first"),
});
const explainInput = z.strictObject({ delivery_id: id });
const triggerInput = z.strictObject({
  type: z.enum(EVENT_TYPES).optional(),
  scenario: z.string().max(100).optional().describe("a story of several events instead, such as busy-friday"),
  object: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("fields of data.object that replace the made-up ones"),
  count: z.int().min(1).max(MOST_EVENTS).default(1),
  org_id: id.optional(),
});
const moveInput = z.strictObject({
  seconds: z.number().min(0).max(LONGEST_ADVANCE_SECONDS).optional(),
  until: z
    .enum(["next", "idle"])
    .optional()
    .describe("the next due attempt, or until nothing is due any more"),
});
const verifyInput = z.strictObject({
  endpoint_id: id.optional().describe("the only endpoint unless given"),
  only: z.array(z.string().max(100)).min(1).max(50).optional().describe("groups or ids of checks"),
  wait_seconds: z.number().min(0).max(LONGEST_WAIT_SECONDS).default(60),
});
const docsInput = z.strictObject({
  page: z.string().max(100).optional().describe("lists the pages unless given"),
});

const listSchema = z.looseObject({ data: z.array(z.looseObject({})) });
const anySchema = z.looseObject({});
const endpointsSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string(), url: z.string() })) });
const verificationSchema = z.looseObject({
  state: z.string(),
  verdict: z.string().nullable(),
  done: z.number(),
  total: z.number(),
  checks: z.array(z.looseObject({ id: z.string(), outcome: z.string() })),
});
const currentSchema = z.looseObject({ verification: verificationSchema.nullable() });

/** The verbs that developers' assistants need; each is the control API's. */
export function createTools(control: Control): Tool[] {
  return [
    {
      name: "trigger",
      description:
        "Let something happen in the simulated world, which sends its signed event to every endpoint.",
      input: triggerInput,
      async run(input) {
        const { scenario, ...event } = triggerInput.parse(input);
        if ((scenario === undefined) === (event.type === undefined)) {
          throw new Error(`Give either a type (${EVENT_TYPES.join(", ")}) or a scenario.`);
        }
        return answer(
          scenario === undefined
            ? await control.post("/events", event, anySchema)
            : await control.post(`/scenarios/${encodeURIComponent(scenario)}`, {}, anySchema),
        );
      },
    },
    {
      name: "deliveries",
      description:
        "Deliveries with their attempts and the verdict on each: delivered, tried again, dead, and whose doing.",
      input: deliveriesInput,
      async run(input) {
        const asked = Object.entries(deliveriesInput.parse(input)).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        return answer(await control.get(`/deliveries?${new URLSearchParams(asked).toString()}`, listSchema));
      },
    },
    {
      name: "explain",
      description:
        "Why a delivery ended as it did: every attempt with what was sent, what came back, and its signature taken apart.",
      input: explainInput,
      async run(input) {
        const { delivery_id: delivery } = explainInput.parse(input);
        return answer(await control.get(`/deliveries/${encodeURIComponent(delivery)}`, anySchema));
      },
    },
    {
      name: "move_time",
      description:
        "Move schedule time: by seconds, to the next due attempt, or until every delivery is delivered or dead.",
      input: moveInput,
      async run(input) {
        const { seconds, until } = moveInput.parse(input);
        if ((seconds === undefined) === (until === undefined))
          throw new Error("Give either seconds or until.");
        return answer(
          await control.post("/clock/advance", seconds === undefined ? { until } : { seconds }, anySchema),
        );
      },
    },
    {
      name: "verify",
      description:
        "Judge the receiver of an endpoint: the verdict, and what failed first, with evidence and a fix.",
      input: verifyInput,
      run: async (input) => verify(control, verifyInput.parse(input)),
    },
    {
      name: "docs",
      description: "Read a page of the documentation, or list the pages.",
      input: docsInput,
      async run(input) {
        const { page } = docsInput.parse(input);
        if (page === undefined) return answer({ pages: docsPages() });
        const text = docsPage(page);
        if (text === undefined)
          throw new Error(`There is no page ${JSON.stringify(page)}: ${docsPages().join(", ")}.`);
        return answerText(text);
      },
    },
  ];
}

async function verify(control: Control, asked: z.infer<typeof verifyInput>): Promise<Answer> {
  const endpoint = asked.endpoint_id ?? (await onlyEndpoint(control));
  const selection = asked.only === undefined ? {} : { only: asked.only };
  let run = await control.post(
    `/endpoints/${encodeURIComponent(endpoint)}/verify`,
    selection,
    verificationSchema,
  );
  const deadlineMs = performance.now() + asked.wait_seconds * 1000;
  while (run.state !== "ended" && performance.now() < deadlineMs) {
    await pause(POLL_EVERY_MS);
    const { verification } = await control.get("/verification", currentSchema);
    if (verification === null) break;
    run = verification;
  }
  const { state, verdict, done, total, checks } = run;
  const passed = checks.filter(({ outcome }) => outcome === "passed").map((check) => check.id);
  const others = checks.filter(({ outcome }) => outcome !== "passed");
  return answer({
    state,
    verdict,
    done,
    total,
    not_passed: others.toSorted((left, right) => rank(left.outcome) - rank(right.outcome)),
    passed,
  });
}

function rank(outcome: string): number {
  return outcome === "failed" ? 0 : 1;
}

async function onlyEndpoint(control: Control): Promise<string> {
  const { data } = await control.get("/endpoints", endpointsSchema);
  const [first, ...others] = data;
  if (first !== undefined && others.length === 0) return first.id;
  throw new Error(
    first === undefined
      ? "There is no endpoint: register the receiver first, as `endpoints add URL` does."
      : `Name one of the endpoints: ${data.map((one) => `${one.id} (${one.url})`).join(", ")}.`,
  );
}

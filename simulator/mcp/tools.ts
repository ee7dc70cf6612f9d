import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { selectionFields } from "../domain/selection.ts";
import { EVENT_TYPES } from "../../shared/events.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";

/** The simulator of the tools, reached only through its control API. */
export type Control = {
  get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.input<Schema>>;
  post<Schema extends z.ZodType>(path: string, body: unknown, schema: Schema): Promise<z.input<Schema>>;
};

/** A tool: its description for assistants, and its function. Its arguments have been checked against `input`. */
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

const id = z.string().min(1).max(100);
const verifyInput = {
  endpoint_id: id.optional().describe("the only endpoint unless given"),
  only: z.array(z.string().max(100)).min(1).max(50).optional().describe("groups or ids of checks"),
  wait_seconds: z.number().min(0).max(LONGEST_WAIT_SECONDS).default(60),
};

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

export function createTools(control: Control): Tool[] {
  return [
    tool(
      "trigger",
      "Trigger an event in the simulated world; it is signed and sent to every endpoint that selected its type.",
      {
        type: z.enum(EVENT_TYPES).optional(),
        scenario: z
          .string()
          .max(100)
          .optional()
          .describe("a scenario of several events instead, such as busy-friday"),
        object: z
          .record(z.string(), z.unknown())
          .optional()
          .describe("fields of data.object that replace the generated ones"),
        count: z.int().min(1).max(MOST_EVENTS).default(1),
        org_id: id.optional(),
      },
      async ({ scenario, ...event }) => {
        if ((scenario === undefined) === (event.type === undefined))
          throw new Error(`Give either a type (${EVENT_TYPES.join(", ")}) or a scenario.`);
        return answer(
          scenario === undefined
            ? await control.post("/events", event, anySchema)
            : await control.post(`/scenarios/${encodeURIComponent(scenario)}`, {}, anySchema),
        );
      },
    ),
    tool(
      "deliveries",
      "Deliveries with their attempts and verdicts: delivered, retried or dead, and who caused a failure.",
      { ...selectionFields, limit: z.int().min(1).max(MOST_LISTED).default(10).describe("newest first") },
      async (asked) => {
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries(asked))
          if (value !== undefined) query.set(name, String(value));
        return answer(await control.get(`/deliveries?${query.toString()}`, listSchema));
      },
    ),
    tool(
      "explain",
      "Why a delivery ended as it did: every attempt with its request, answer and parsed signature.",
      { delivery_id: id },
      async ({ delivery_id: delivery }) =>
        answer(await control.get(`/deliveries/${encodeURIComponent(delivery)}`, anySchema)),
    ),
    tool(
      "move_time",
      "Move schedule time: by seconds, to the next due attempt, or until every delivery is delivered or dead.",
      {
        seconds: z
          .number()
          .min(OPTION_BOUNDS.advanceSeconds[0])
          .max(OPTION_BOUNDS.advanceSeconds[1])
          .optional(),
        until: z
          .enum(["next", "idle"])
          .optional()
          .describe("the next due attempt, or until nothing is due any more"),
      },
      async ({ seconds, until }) => {
        if ((seconds === undefined) === (until === undefined))
          throw new Error("Give either seconds or until.");
        const step = seconds === undefined ? { until } : { seconds };
        return answer(await control.post("/clock/advance", step, anySchema));
      },
    ),
    tool(
      "verify",
      "Judge the receiver of an endpoint: the verdict, and what failed first, with evidence and a fix.",
      verifyInput,
      (asked) => verify(control, asked),
    ),
  ];
}

function tool<Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: Shape,
  run: (input: z.infer<z.ZodObject<Shape, z.core.$strict>>) => Promise<Answer>,
): Tool {
  const input = z.strictObject(shape);
  return { name, description, input, run: async (given) => run(input.parse(given)) };
}

async function verify(control: Control, asked: z.infer<z.ZodObject<typeof verifyInput>>): Promise<Answer> {
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
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const others = checks.filter(({ outcome }) => outcome !== "passed" && outcome !== "failed");
  return answer({ state, verdict, done, total, not_passed: [...failed, ...others], passed });
}

async function onlyEndpoint(control: Control): Promise<string> {
  const { data } = await control.get("/endpoints", endpointsSchema);
  const [first, ...others] = data;
  if (first !== undefined && others.length === 0) return first.id;
  throw new Error(
    first === undefined
      ? "No endpoint: register the receiver first, for example with `endpoints add URL`."
      : `Name one of the endpoints: ${data.map((one) => `${one.id} (${one.url})`).join(", ")}.`,
  );
}

/** The answer of a tool: text of limited length, since assistants pay for each character. */
export type Answer = { content: { type: "text"; text: string }[]; isError?: boolean };

const MOST_CHARACTERS = 20_000;

export function answer(value: unknown): Answer {
  return { content: [{ type: "text", text: bounded(JSON.stringify(value, null, 1)) }] };
}

/** What went wrong, and what to do; a hint never repeats the token. */
export function answerProblem(message: string, token: string | undefined): Answer {
  const text = token === undefined || token === "" ? message : message.replaceAll(token, "…");
  return { content: [{ type: "text", text: bounded(text) }], isError: true };
}

function bounded(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n… cut after ${MOST_CHARACTERS} of ${text.length} characters: ask for less.`;
}

import { createRandom } from "../domain/random.ts";
import { didYouMean } from "../domain/suggest.ts";

/** Trouble that clients of the REST API have to live with. Probabilities are between 0 and 1. */
export type ApiFaultPlan = {
  /** Every answer takes this long, somewhere between the two. */
  latencyMs: readonly [number, number];
  /** How many answers are 500 `server_error`. */
  errors: number;
  /** How often the item that a page is to start after has just been deleted. */
  lostCursor: number;
  /** New calls between one page of a walk and the next. */
  arrivals: number;
};

export type ParsedApiFaults = { ok: true; plan: ApiFaultPlan } | { ok: false; message: string };

export type ApiFaults = ReturnType<typeof createApiFaults>;

const NONE: ApiFaultPlan = { latencyMs: [0, 0], errors: 0, lostCursor: 0, arrivals: 0 };
const LONGEST_LATENCY_MS = 600_000;
const MOST_ARRIVALS = 1_000;
const LOST_CURSOR_DEFAULT = 0.1;
const ARRIVALS_DEFAULT = 1;

/** What can go wrong, as it is written: one line each, for help texts. */
export const API_FAULTS = {
  latency: "latency=MS or latency=FROM-TO: every answer takes that many milliseconds",
  errors: "errors=RATE: that share of the answers is 500 server_error (0.1 or 10%)",
  "lost-cursor": `lost-cursor or lost-cursor=RATE: the item of starting_after is deleted, ${LOST_CURSOR_DEFAULT * 100}% of the time`,
  arrivals: "arrivals or arrivals=N: new calls come in between one page and the next",
} as const;

/** Reads a list such as `latency=200,errors=0.1,lost-cursor,arrivals=3`. */
export function parseApiFaults(text: string): ParsedApiFaults {
  let plan = NONE;
  for (const part of text.split(",").map((written) => written.trim())) {
    const [name = "", value] = part.split("=", 2);
    const change = parseFault(name, value);
    if (change === undefined) {
      if (isFaultName(name)) return refused(`"${part}" does not fit ${API_FAULTS[name]}.`);
      const names = Object.keys(API_FAULTS);
      return refused(
        `There is no API fault "${name}".${didYouMean(name, names)} There are ${names.join(", ")}.`,
      );
    }
    plan = { ...plan, ...change };
  }
  return { ok: true, plan };
}

/** Makes the trouble of `plan`, the same every time for one seed and one order of requests. */
export function createApiFaults(options: {
  plan: ApiFaultPlan;
  seed: number;
  wait: (ms: number) => Promise<void>;
  /** Deletes a call or voicemail. */
  forget: (orgId: string, id: string) => void;
  /** Lets a call come in at an organization, as the business itself would. */
  arrive: (orgId: string) => void;
}) {
  const { plan, wait, forget, arrive } = options;
  const random = createRandom(options.seed, "api faults");

  return {
    /** Before a request of `orgId` is answered; true when the answer is to be an internal failure. */
    async strike(request: { orgId: string; startingAfter?: string | undefined }): Promise<boolean> {
      const latencyMs = random.int(...plan.latencyMs);
      const fails = random.chance(plan.errors);
      const loses = random.chance(plan.lostCursor);
      if (latencyMs > 0) await wait(latencyMs);
      if (fails) return true;
      if (request.startingAfter !== undefined) {
        if (loses) forget(request.orgId, request.startingAfter);
        for (let arrived = 0; arrived < plan.arrivals; arrived += 1) arrive(request.orgId);
      }
      return false;
    },
  };
}

function parseFault(name: string, value: string | undefined): Partial<ApiFaultPlan> | undefined {
  if (name === "latency") {
    const [from = Number.NaN, to = from] = (value ?? "").split("-", 2).map(wholeNumber);
    const fits = from <= to && to <= LONGEST_LATENCY_MS;
    return fits ? { latencyMs: [from, to] } : undefined;
  }
  if (name === "errors") {
    const errors = rate(value ?? "");
    return errors === undefined ? undefined : { errors };
  }
  if (name === "lost-cursor") {
    const lostCursor = value === undefined ? LOST_CURSOR_DEFAULT : rate(value);
    return lostCursor === undefined ? undefined : { lostCursor };
  }
  if (name === "arrivals") {
    const arrivals = value === undefined ? ARRIVALS_DEFAULT : wholeNumber(value);
    return arrivals <= MOST_ARRIVALS ? { arrivals } : undefined;
  }
  return undefined;
}

function wholeNumber(text: string): number {
  return /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
}

/** 0.1 and 10% are the same rate. */
function rate(text: string): number | undefined {
  const [, digits, percent] = /^([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(%?)$/.exec(text) ?? [];
  const value = Number(digits ?? Number.NaN) / (percent === "%" ? 100 : 1);
  return value >= 0 && value <= 1 ? value : undefined;
}

function isFaultName(name: string): name is keyof typeof API_FAULTS {
  return Object.hasOwn(API_FAULTS, name);
}

function refused(message: string): ParsedApiFaults {
  return { ok: false, message };
}

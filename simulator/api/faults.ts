import { createRandom } from "../domain/random.ts";
import { didYouMean } from "../domain/suggest.ts";
import { type Refused, refused } from "../domain/refused.ts";

/** Faults of the REST API, for developers of clients; none unless asked for. Probabilities are between 0 and 1. */
const NONE = {
  /** Every answer takes this long, somewhere between the two. */
  latencyMs: [0, 0] as readonly [number, number],
  /** How many answers are 500 `server_error`. */
  errors: 0,
  /** How often the item that a page is to start after has just been deleted. */
  lostCursor: 0,
  /** New calls between one page of a walk and the next. */
  arrivals: 0,
  /** How many answers are 429 with `Retry-After`, which the specification knows nothing of. */
  throttle: 0,
  /** Unread voicemails that somebody reviews, and notes, before each answer: whoever polls sees them change. */
  reviews: 0,
  /** Whether each answer announces that this version goes in 90 days (SPEC §9). */
  deprecation: false,
};

export type ApiFaultPlan = typeof NONE;

/** What becomes of one request: it is answered, or it fails in one of these ways. */
export type Strike = "answer" | "error" | "throttle";

export type ParsedApiFaults = { ok: true; plan: ApiFaultPlan } | Refused;

export type ApiFaults = ReturnType<typeof createApiFaults>;

const LONGEST_LATENCY_MS = 600_000;
const MOST_ARRIVALS = 1_000;
const LOST_CURSOR_DEFAULT = 0.1;
/** SPEC §9: at least 90 days of notice. */
const NOTICE_MS = 90 * 86_400_000;

type Trouble = {
  /** How it is written, and what it does: one line for help texts. */
  says: string;
  /** What it changes in the plan; undefined where `value` does not fit. */
  read: (value: string | undefined) => Partial<ApiFaultPlan> | undefined;
};

/** What can go wrong, by its name. */
export const API_FAULTS: Readonly<Record<string, Trouble>> = {
  latency: {
    says: "latency=MS or latency=FROM-TO: every answer takes that many milliseconds",
    read(value = "") {
      const [from = Number.NaN, to = from] = value.split("-", 2).map(wholeNumber);
      return from <= to && to <= LONGEST_LATENCY_MS ? { latencyMs: [from, to] } : undefined;
    },
  },
  errors: {
    says: "errors=RATE: that share of the answers is 500 server_error (0.1 or 10%)",
    read: (value = "") => share("errors", value),
  },
  "lost-cursor": {
    says: `lost-cursor or lost-cursor=RATE: the item of starting_after is deleted, ${LOST_CURSOR_DEFAULT * 100}% of the time`,
    read: (value = String(LOST_CURSOR_DEFAULT)) => share("lostCursor", value),
  },
  arrivals: {
    says: "arrivals or arrivals=N: new calls come in between one page and the next",
    read: (value = "1") => count("arrivals", value),
  },
  throttle: {
    says: "throttle=RATE: that share of the answers is 429 rate_limited with Retry-After: 1",
    read: (value = "") => share("throttle", value),
  },
  reviews: {
    says: "reviews or reviews=N: so many unread voicemails are reviewed and noted before each answer",
    read: (value = "1") => count("reviews", value),
  },
  deprecation: {
    says: "deprecation: each answer announces by Deprecation and Sunset that this version ends in 90 days",
    read: (value) => (value === undefined ? { deprecation: true } : undefined),
  },
};

/** Reads a list such as `latency=200,errors=0.1,lost-cursor,arrivals=3`. */
export function parseApiFaults(text: string): ParsedApiFaults {
  let plan = NONE;
  for (const part of text.split(",").map((written) => written.trim())) {
    const [name = "", value] = part.split("=", 2);
    const trouble = Object.hasOwn(API_FAULTS, name) ? API_FAULTS[name] : undefined;
    if (trouble === undefined) {
      const names = Object.keys(API_FAULTS);
      return refused(
        `There is no API fault "${name}".${didYouMean(name, names)} There are ${names.join(", ")}.`,
      );
    }
    const change = trouble.read(value);
    if (change === undefined) return refused(`"${part}" does not fit ${trouble.says}.`);
    plan = { ...plan, ...change };
  }
  return { ok: true, plan };
}

/** Makes the trouble of `plan`, the same every time for one seed and one order of requests. */
export function createApiFaults(options: {
  plan: ApiFaultPlan;
  seed: number;
  wait: (ms: number) => Promise<void>;
  /** Wall time. */
  nowMs: () => number;
  /** Deletes a call or voicemail. */
  forget: (orgId: string, id: string) => void;
  /** Lets a call come in at an organization, as the business itself would. */
  arrive: (orgId: string) => void;
  /** Reviews the newest unread voicemail of an organization, and notes what came of it. */
  review: (orgId: string) => void;
}) {
  const { plan, wait, forget, arrive, review } = options;
  const random = createRandom(options.seed, "api faults");

  return {
    /** Headers that every answer has beside its own. */
    headers(): Record<string, string> {
      if (!plan.deprecation) return {};
      const nowMs = options.nowMs();
      return {
        deprecation: `@${Math.floor(nowMs / 1000)}`,
        sunset: new Date(nowMs + NOTICE_MS).toUTCString(),
        link: '</api/v2>; rel="successor-version"',
      };
    },
    /** Before a request of `orgId` is answered: what becomes of it. */
    async strike(request: { orgId: string; startingAfter?: string | undefined }): Promise<Strike> {
      const latencyMs = random.int(...plan.latencyMs);
      const fails = random.chance(plan.errors);
      const loses = random.chance(plan.lostCursor);
      if (latencyMs > 0) await wait(latencyMs);
      if (fails) return "error";
      // Drawn only when asked for, so that the other faults of a seed stay what they are without it.
      if (plan.throttle > 0 && random.chance(plan.throttle)) return "throttle";
      if (request.startingAfter !== undefined) {
        if (loses) forget(request.orgId, request.startingAfter);
        for (let arrived = 0; arrived < plan.arrivals; arrived += 1) arrive(request.orgId);
      }
      for (let reviewed = 0; reviewed < plan.reviews; reviewed += 1) review(request.orgId);
      return "answer";
    },
  };
}

function wholeNumber(text: string): number {
  return /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
}

/** 0.1 and 10% are the same share. */
function share(name: "errors" | "throttle" | "lostCursor", text: string): Partial<ApiFaultPlan> | undefined {
  const [, digits, percent] = /^([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(%?)$/.exec(text) ?? [];
  const value = Number(digits ?? Number.NaN) / (percent === "%" ? 100 : 1);
  return value >= 0 && value <= 1 ? { [name]: value } : undefined;
}

function count(name: "arrivals" | "reviews", text: string): Partial<ApiFaultPlan> | undefined {
  const value = wholeNumber(text);
  return value <= MOST_ARRIVALS ? { [name]: value } : undefined;
}

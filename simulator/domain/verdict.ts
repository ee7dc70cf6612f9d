import type { AttemptSummary } from "./attempts.ts";
import { type CauseName, causeOf, CAUSES, type Meaning } from "./causes.ts";
import { forgeryAnswer, isSuccess } from "./judgement.ts";
import type { Blame, DeliveryState } from "./outcome.ts";
import { FAULTS, type Fault } from "./faults.ts";
import type { Handling, Meant, Verdict, VerdictResult } from "./shapes.ts";

export type DeliveryFacts = {
  state: DeliveryState;
  attempts: readonly Attempt[];
  /** Whether an earlier delivery sent the same event to the same endpoint. */
  isAgain: boolean;
  /** Whether it gave up, and a later delivery delivered the same event to the same endpoint. */
  isRecovered: boolean;
  /** Null if the receiver is not observed. */
  handling: Handling | null;
};

type Attempt = Pick<AttemptSummary, "endedAtMs" | "httpStatus" | "error"> & {
  injected: readonly Fault[];
  blame: Blame | null;
};
type Ruling = Omit<Verdict, "meant">;
/** Judges one delivery by its purpose, its answers and, if observed, what the receiver did. */
export function judgeDelivery(facts: DeliveryFacts): Verdict {
  const meant = meantBy(facts);
  const ruling = RULES[meant](facts);
  if (facts.isRecovered && ruling.result === "not" && (facts.handling?.handled ?? 0) <= 1)
    return {
      meant,
      result: "ok",
      sentence: "Gave up, recovered by a later delivery",
      cause: null,
      why: null,
    };
  return { meant, ...ruling };
}

const RULES: Record<Meant, (facts: DeliveryFacts) => Ruling> = {
  forged: judgeForged,
  answer_lost: (facts) => judgeRetried("Answer lost on purpose", facts),
  cut_off: (facts) => judgeRetried("Cut off on purpose", facts),
  duplicate: (facts) => judgeTaken("Duplicate", facts),
  unfamiliar: (facts) => judgeTaken("Unfamiliar on purpose", facts),
  slow: (facts) => judgeTaken("Slow on purpose", facts),
  honest: (facts) => judgeTaken("", facts),
};

function meantBy({ attempts, isAgain }: DeliveryFacts): Meant {
  const names = new Set(attempts.flatMap(({ injected }) => injected.map(({ name }) => name)));
  if ([...names].some((name) => FAULTS[name].at === "signature")) return "forged";
  if (names.has("drop-answer") || names.has("time-out")) return "answer_lost";
  if (names.has("reset-mid-body")) return "cut_off";
  if (isAgain) return "duplicate";
  if ([...names].some((name) => FAULTS[name].at === "body")) return "unfamiliar";
  return names.has("slow-body") ? "slow" : "honest";
}

/** A delivery without a valid signature must be refused, and never handled (SPEC §6 Signature). */
function judgeForged(facts: DeliveryFacts): Ruling {
  const { attempts, handling } = facts;
  const forged = attempts.filter((attempt) => isForged(attempt) && attempt.endedAtMs !== null);
  const honest = attempts.filter((attempt) => !isForged(attempt));
  const statuses = forged.flatMap(({ httpStatus }) => httpStatus ?? []);
  const failed = statuses.find((status) => forgeryAnswer(status) === "failed");
  if (forged.length === 0) return ruling("waiting", "Forged on purpose: on its way");
  if (statuses.some((status) => forgeryAnswer(status) === "accepted"))
    return ruling("not", "Forged on purpose, and accepted", "forgery_accepted");
  if (honest.length > 0)
    return judgeTaken("Forged on purpose, refused; then sent as it should be", {
      ...facts,
      attempts: honest,
    });
  if (handling !== null && handling.handled > 0)
    return ruling("not", "Forged on purpose, refused, and handled all the same", "forgery_handled");
  const silent = forged.find(({ error }) => error !== null);
  if (silent !== undefined)
    return ruling("unknown", `Forged on purpose, unclear: no answer (${silent.error})`);
  return failed === undefined
    ? ruling("ok", `Forged on purpose, refused (${statuses.at(-1)})`)
    : ruling("ok", `Forged on purpose, kept out by ${failed} instead of a 401`, "forgery_not_refused");
}

/** A delivery that we made fail is sent again, so only the number of handlings shows whether the receiver was right. */
function judgeRetried(meant: string, facts: DeliveryFacts): Ruling {
  const { state, attempts, handling } = facts;
  const ours = attempts.filter(({ blame }) => blame === "simulator");
  const failed = attempts.find(({ blame }) => blame === "receiver");
  if (state === "delivered") return judgeHandling(`${meant}, retried`, facts, true);
  if (failed !== undefined)
    return judgeTaken(meant, { ...facts, attempts: attempts.filter((one) => !ours.includes(one)) });
  if (state === "attempting")
    return ruling("waiting", ours.length === 0 ? `${meant}: on its way` : `${meant}: to be tried again`);
  if (handling === null) return ruling("unknown", `${meant} each time, unclear whether it was handled`);
  return handling.handled > 1
    ? ruling("not", `${meant}, handled ${times(handling.handled)}`, "handled_twice")
    : ruling("ok", `${meant} each time, handled ${times(handling.handled)}`);
}

/** A correctly signed delivery must be acknowledged, with any content, and handled once. */
function judgeTaken(meant: string, facts: DeliveryFacts): Ruling {
  const { state, attempts } = facts;
  if (state === "delivered") return judgeHandling(meant, facts, meant === "Duplicate");
  const failures = attempts.filter(({ httpStatus, error }) => error !== null || isFailure(httpStatus));
  const last = failures.at(-1);
  const isUnderWay = state === "attempting";
  if (last === undefined)
    return isUnderWay
      ? ruling("waiting", capital(join(meant, "on its way")))
      : ruling("unknown", capital(join(meant, "given up: its endpoint was deleted")));
  if (last.error === "interrupted")
    return ruling(isUnderWay ? "waiting" : "unknown", "The simulator stopped meanwhile");
  const how = last.error ?? String(last.httpStatus);
  const words = isUnderWay
    ? `not acknowledged so far (${how})`
    : `never acknowledged: gave up after ${attemptsInWords(attempts.length)} (${how})`;
  return ruling("not", capital(join(meant, words)), causeOfFailure(meant, last));
}

function judgeHandling(meant: string, { attempts, handling }: DeliveryFacts, needsHandling: boolean): Ruling {
  const number = attempts.filter(({ endedAtMs }) => endedAtMs !== null).length;
  const late = meant === "" && number > 1 ? ` at attempt ${number}` : "";
  const taken = capital(join(meant, `acknowledged${late}`));
  if (handling === null) return ruling(needsHandling ? "unknown" : "ok", taken);
  const { handled, state, isSettled } = handling;
  if (handled > 1) return ruling("not", capital(join(meant, `handled ${times(handled)}`)), "handled_twice");
  if (handled === 1)
    return ruling("ok", capital(join(meant, `${meant === "" ? `acknowledged${late}, ` : ""}handled once`)));
  if (state === "ignored") return ruling("ok", `${taken} and ignored`);
  return isSettled
    ? ruling("not", `${taken}, but never handled`, "never_handled")
    : ruling("waiting", `${taken}, not handled yet`);
}

function causeOfFailure(meant: string, { httpStatus, error }: Attempt): CauseName | null {
  const ending = error === null ? { status: httpStatus ?? 0 } : { error };
  return causeOf(ending, MEANINGS[meant]) ?? null;
}

/** The purpose of a delivery, by the words that begin its sentence. */
const MEANINGS: Record<string, Meaning> = { Duplicate: "duplicate", "Unfamiliar on purpose": "unfamiliar" };

function isForged({ injected }: Attempt): boolean {
  return injected.some(({ name }) => FAULTS[name].at === "signature");
}

function isFailure(status: number | null): boolean {
  return status !== null && !isSuccess(status);
}

function ruling(result: VerdictResult, sentence: string, cause: CauseName | null = null): Ruling {
  return { result, sentence, cause: result === "not" ? cause : null, why: cause && CAUSES[cause].fix };
}

function join(meant: string, words: string): string {
  return meant === "" ? words : `${meant}, ${words}`;
}

function capital(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function attemptsInWords(count: number): string {
  return { 1: "one attempt", 6: "six attempts" }[count] ?? `${count} attempts`;
}

function times(count: number): string {
  return ["never", "once", "twice"][count] ?? `${count} times`;
}

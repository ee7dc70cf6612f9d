import type { Job, Jobs } from "../store/port.ts";

/**
 * Runs `run` once and records what it returned, as JSON; later attempts get the recorded result. A crash before it is
 * recorded runs it again, so pass on an idempotency key. The result has always been through JSON: a Date is its text, in
 * the first attempt too. Each step of a handler has its own name: the same name twice in one attempt is an error. Not
 * inside `atomically`.
 */
export type Step = <Result>(name: string, run: () => Promise<Result> | Result) => Promise<Json<Result>>;

/** What JSON leaves of a value. */
export type Json<Value> = Value extends { toJSON: () => infer Text }
  ? Json<Text>
  : Value extends string | number | boolean | null | undefined
    ? Value
    : Value extends bigint | symbol | ((...rest: never[]) => unknown)
      ? never
      : Value extends readonly unknown[]
        ? { [Index in keyof Value]: Json<Value[Index]> }
        : Value extends object
          ? { [Field in keyof Value]: Json<Value[Field]> }
          : unknown;

/** Makes `step` for one attempt. No step begins after `signal` is aborted; one that has begun is recorded all the same. */
export function createStep(jobs: Jobs, job: Job, signal: AbortSignal): Step {
  const begun = new Set<string>();

  return async <Result>(name: string, run: () => Promise<Result> | Result) => {
    if (begun.has(name))
      throw new Error(`step("${name}") was called twice in one attempt: give each call its own name.`);
    begun.add(name);
    signal.throwIfAborted();
    const recorded = await jobs.findStep(job, name);
    if (recorded !== undefined) return read<Result>(recorded);
    const json = write(name, await run());
    await jobs.recordStep(job, name, json);
    return read<Result>(json);
  };
}

/** In an object, since `undefined` alone is no JSON. */
function write(name: string, result: unknown): string {
  try {
    return JSON.stringify({ result });
  } catch (error) {
    throw new TypeError(`step("${name}") returned what JSON cannot hold.`, { cause: error });
  }
}

function read<Result>(json: string): Json<Result> {
  // Written by `write` of the same step; no schema knows its type.
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return (JSON.parse(json) as { result: Json<Result> }).result;
}

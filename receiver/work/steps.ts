import type { Steps } from "../engine.ts";

/**
 * Runs `run` and stores what it returned, as JSON; a later attempt answers what was stored, without running it again. At
 * least once until it is recorded: a crash between the end of `run` and the record runs it again, so hand on an
 * idempotency key. What it answers has always been through JSON: a Date has become its text, on the first attempt too.
 * Not inside `atomically`. Each step of a handler has a name of its own.
 */
export type Step = <Result>(name: string, run: () => Promise<Result> | Result) => Promise<Json<Result>>;

/** What is left of a value once JSON has written it and read it again. */
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

/**
 * Makes `step` of one attempt. Once `signal` is aborted no step begins; one that has begun is recorded all the same, or
 * what takes longer than the attempt may would be done again by each of them.
 */
export function createStep(options: {
  steps: Steps;
  signal: AbortSignal;
  isInTransaction: () => boolean;
}): Step {
  const { steps, signal } = options;
  const begun = new Set<string>();

  return async <Result>(name: string, run: () => Promise<Result> | Result) => {
    if (options.isInTransaction())
      throw new Error(`step("${name}") inside atomically(): call it before, and write what it answered.`);
    if (begun.has(name))
      throw new Error(
        `step("${name}") was called twice in one attempt: give each call a name of its own, such as "${name}-2".`,
      );
    begun.add(name);
    signal.throwIfAborted();
    const recorded = await steps.find(name);
    if (recorded !== undefined) return read<Result>(recorded);
    const json = write(name, await run());
    await steps.record(name, json);
    return read<Result>(json);
  };
}

/** In an object, since `undefined` alone is no JSON. */
function write(name: string, result: unknown): string {
  try {
    return JSON.stringify({ result });
  } catch (error) {
    throw new TypeError(`step("${name}") answered what JSON cannot say.`, { cause: error });
  }
}

function read<Result>(json: string): Json<Result> {
  // Written by `write` of the same step; no schema knows its type.
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return (JSON.parse(json) as { result: Json<Result> }).result;
}

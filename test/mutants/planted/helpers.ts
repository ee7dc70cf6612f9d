import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { loopTurns } from "../../helpers/loop-turns.ts";
import type { Mutant } from "../mutants.ts";
import { type Behaviour, CORRECT, type State } from "../behaviour.ts";

/** A header of a request, or "". */
export const header = (request: IncomingMessage, name: string): string => String(request.headers[name] ?? "");

/** A receiver that ends when this check sends to it. */
export function dies(bug: string, caughtBy: string, plant: Mutant["plant"]): Mutant {
  return { bug, plant, caughtBy, cause: "ended" };
}

/** A receiver that refuses some valid events. */
export function unfamiliar(bug: string, caughtBy: string, acceptable: Behaviour["acceptable"]): Mutant {
  return { bug, plant: { acceptable }, caughtBy, cause: "unfamiliar_refused" };
}

export const HOUR_SECONDS = 3_600;

/** Answers `status` to copies of an event that it is `working` on. */
export function refusesCopies(
  status: number,
  working: (state: State, id: string) => Promise<void>,
): Behaviour["beforeAnswer"] {
  return async ({ id }, state) => {
    if (state.open.has(id)) return status;
    state.open.set(id, 1);
    await working(state, id);
    state.open.delete(id);
    return undefined;
  };
}

/** Answers 409 to an event of this type if an earlier event was about the same object. */
export function refusesSecond(refused: string): Behaviour["acceptable"] {
  return ({ id, type, data }, state) => {
    const object = String(data.object.id);
    const first = state.firsts.get(object) ?? id;
    state.firsts.set(object, first);
    return type !== refused || first === id || 409;
  };
}

/** Waits until no more requests (or copies of event `id`) arrive, so that simultaneous ones are open together on slow machines too. */
export async function lull(state: State, id?: string): Promise<void> {
  const arrived = (): number => (id === undefined ? state.requests : (state.copies.get(id) ?? 0));
  for (let before = -1; before !== arrived();) {
    before = arrived();
    await sleep(40);
    // After a pause of the process the timer fires before the sockets are read.
    await loopTurns(30);
  }
}

/** Accepts a whole number `t` by its age. */
export function within(accepted: (ageSeconds: number) => boolean): Behaviour["ageAccepted"] {
  return (t, nowMs) => /^-?\d{1,16}$/.test(t) && accepted(Math.floor(nowMs / 1_000) - Number(t));
}

/** The correct comparison, plus a lenient one. */
export function orWhen(lenient: (v1: string, expected: Buffer) => boolean): Behaviour["digestAccepted"] {
  return (v1, expected, state) => lenient(v1, expected) || CORRECT.digestAccepted(v1, expected, state);
}

/** Refuses objects of `kind` whose field holds another value than accepted. */
export function only(
  kind: string,
  field: string,
  accepted: (value: string) => boolean,
): Behaviour["acceptable"] {
  return ({ data }) => {
    const { object } = data;
    if (object.object !== kind || !(field in object)) return true;
    const value = object[field];
    return (
      accepted(typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)) || 400
    );
  };
}

/** The signed string of `body` at `t`. */
export function join(t: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${t}.`), body]);
}

/** The body reserialised by a JSON library; empty if it is not JSON. */
export function rewritten(body: Buffer): string {
  try {
    return JSON.stringify(JSON.parse(body.toString("utf8")));
  } catch {
    return "";
  }
}

/** The body with each 0xfe changed to 0xff, as by a decoder that cannot tell them apart. */
export function swapped(body: Buffer): Buffer[] {
  return body.includes(0xfe) ? [Buffer.from(body.map((byte) => (byte === 0xfe ? 0xff : byte)))] : [];
}

/** Whether the envelope's keys are in another order than documented. */
export function isReversed(body: Buffer): boolean {
  return body.toString("latin1").startsWith('{"org_id"');
}

/** The body with the keys of its envelope in reverse. */
export function reversed(body: Buffer): Buffer {
  return Buffer.from(
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body.toString("utf8"))).toReversed())),
  );
}

/** The first event id in a body, or "". */
export function idOf(body: Buffer): string {
  return /evt_[0-9a-fA-F]{32}/.exec(body.toString("latin1"))?.[0] ?? "";
}

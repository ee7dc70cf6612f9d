import type { JobHandler } from "../../engine.ts";
import type { Kind } from "./boss.ts";

/** So many jobs, of one handler and kind. */
export type Wanted = { handler: JobHandler; kind: Kind; limit: number };

/** A handler that has something due of these kinds, and how many more of its jobs this worker may hold. */
export type Hungry = { handler: JobHandler; kinds: readonly Kind[]; room: number };

/**
 * Shares the free slots among the handlers that have something due, and each handler's part between its new jobs and its
 * retries, half and half. `turn` says who comes first where it doesn't come out even: another one each time.
 */
export function share(all: readonly Hungry[], slots: number, turn: number): Wanted[] {
  const hungry = all.filter(({ kinds, room }) => room > 0 && isOthers(kinds));
  const first = hungry.length === 0 ? 0 : turn % hungry.length;
  const inTurn = [...hungry.slice(first), ...hungry.slice(0, first)];
  const wanted: Wanted[] = [];
  let left = slots;
  for (const [index, { handler, kinds: due, room }] of inTurn.entries()) {
    const kinds = due.filter((kind) => kind !== "suspect");
    const limit = Math.min(Math.ceil(left / (inTurn.length - index)), room);
    left -= limit;
    const half = kinds.length === 1 ? limit : Math.floor((limit + (turn % 2)) / 2);
    for (const [at, kind] of kinds.entries()) {
      wanted.push({ handler, kind, limit: at === 0 ? half : limit - half });
    }
  }
  return wanted.filter(({ limit }) => limit > 0);
}

/** A job whose worker vanished, of another handler each time. */
export function oneSuspect(all: readonly Hungry[], turn: number): Wanted[] {
  const suspected = all.filter(({ kinds }) => kinds.includes("suspect"));
  const chosen = suspected[turn % suspected.length];
  return chosen ? [{ handler: chosen.handler, kind: "suspect", limit: 1 }] : [];
}

/** Whether there is something among them but suspects. */
export function isOthers(kinds: readonly Kind[]): boolean {
  return kinds.some((kind) => kind !== "suspect");
}

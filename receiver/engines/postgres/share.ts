import type { JobHandler } from "../../engine.ts";

/** A handler of this worker that has something due of this priority. */
export type Due = { handler: JobHandler; priority: number };

/** How many jobs of one handler and priority are wanted. */
export type Wanted = Due & { limit: number };

/**
 * Shares the free slots among what is due: new jobs and retries of each handler are alike, and have as much each. `turn`
 * says who comes first where it doesn't come out even: another one each time. `room` is how many more jobs of a handler
 * this worker may hold.
 */
export function share(
  due: readonly Due[],
  { slots, room, turn }: { slots: number; room: (handler: JobHandler) => number; turn: number },
): Wanted[] {
  const first = due.length === 0 ? 0 : turn % due.length;
  const inTurn = [...due.slice(first), ...due.slice(0, first)];
  const taken = new Map<JobHandler, number>();
  let left = slots;
  return inTurn.flatMap((one, index) => {
    const { handler } = one;
    const already = taken.get(handler) ?? 0;
    const ofHandler = inTurn.slice(index).filter((other) => other.handler === handler);
    const limit = Math.min(
      Math.ceil(left / (inTurn.length - index)),
      Math.ceil((room(handler) - already) / ofHandler.length),
    );
    if (limit <= 0) return [];
    taken.set(handler, already + limit);
    left -= limit;
    return [{ ...one, limit }];
  });
}

import type { EventType } from "../../shared/events.ts";

/** What no reading of the REST API can bring back, and what to do about it. */
export type Unhealable = { type: EventType; reason: string; whatToDo: string };

/** An object that would make an event beyond the bounds of the intake. */
export type Unfit = { type: EventType; objectId: string };

/** Types whose lost events can be neither seen nor rebuilt, and the time around which to look for them. */
export function unhealable(report: {
  since: string;
  healed: readonly { createdAt: string }[];
}): Unhealable[] {
  const times = report.healed.map(({ createdAt }) => createdAt).toSorted();
  const [first] = times;
  const last = times.at(-1);
  const when =
    first === undefined || last === undefined
      ? `since ${report.since}, should events have been lost then`
      : `around the gap from ${first} to ${last}`;
  return (["order.created", "booking.created"] as const).map((type) => ({
    type,
    reason: `The REST API has no path to read ${type === "order.created" ? "orders" : "bookings"}, so a lost event can neither be seen nor rebuilt.`,
    whatToDo: `In the service's dashboard, look for dead deliveries of ${type} ${when}, or for all of that time where a backup was put back or a standby promoted, and have them sent again; they are recognised if they did arrive.`,
  }));
}

/** How many ids a line names. */
const NAMED = 3;

/** Objects that were found, but would make an event that no webhook could bring. */
export function unfitToStore(unfit: readonly Unfit[]): Unhealable[] {
  return [...Map.groupBy(unfit, ({ type }) => type)].map(([type, objects]) => {
    const ids = objects.slice(0, NAMED).map(({ objectId }) => objectId);
    const more = objects.length > NAMED ? ", …" : "";
    return {
      type,
      reason: `${String(objects.length)} of the objects would make an event beyond MAX_BODY_BYTES, or one that no webhook could bring (${ids.join(", ")}${more}).`,
      whatToDo:
        "Look at them in the service's dashboard; if they are as they should be, raise MAX_BODY_BYTES.",
    };
  });
}

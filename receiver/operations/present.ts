import type { InboxEvent } from "../store/port.ts";
import { shownType } from "./privacy.ts";

/** An event as programs read it, without the history of errors if `isBrief`. */
export function presentEvent(event: InboxEvent, { isBrief }: { isBrief: boolean }): Record<string, unknown> {
  const { id, type, state, deferredUntilMs, jobs, ...known } = event;
  return inSnakeCase({
    id,
    type: type === null ? null : shownType(type),
    state,
    ...known,
    ...(deferredUntilMs === null ? {} : { deferredUntilMs }),
    jobs: jobs.map(({ errors, ...job }) => (isBrief ? job : { ...job, errors })),
  });
}

/** Names in snake_case, points in time as ISO 8601, at any depth. */
export function inSnakeCase(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      const [, moment] = /^(.*[aA]t|.*Until)Ms$/.exec(name) ?? [];
      const shown =
        moment === undefined || value === null ? within(value) : new Date(Number(value)).toISOString();
      return [(moment ?? name).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), shown];
    }),
  );
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within);
  return typeof value === "object" && value !== null ? inSnakeCase(value) : value;
}

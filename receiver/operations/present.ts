import type { Counts, InboxEvent } from "../engine.ts";
import { isRecord, shownType } from "./privacy.ts";

/** An event as the admin port and the `inbox` commands show it. */
export function presentEvent(event: InboxEvent): Record<string, unknown> {
  const { id, type, state, deferredUntilMs, jobs, ...known } = event;
  return inSnakeCase({
    id,
    type: type === null ? null : shownType(type),
    state,
    ...known,
    ...(deferredUntilMs === null ? {} : { deferredUntilMs }),
    jobs: jobs.map(({ handler, ...job }) => ({ handler, ...job })),
  });
}

/** As programs read it: names in snake_case, points in time as ISO 8601. */
export function inSnakeCase(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const [, moment] = /^(.*(?:At|Until))Ms$/.exec(name) ?? [];
      const shown = moment === undefined ? within(value) : iso(value);
      return [(moment ?? name).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), shown];
    }),
  );
}

/** What stands before the number of events in a state, where they are too many to count. */
export function roughly({ isEstimate }: Counts, state: string): string {
  if (isEstimate !== true) return "";
  return state === "done" ? "about " : "at least ";
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within);
  return isRecord(value) ? inSnakeCase(value) : value;
}

function iso(atMs: unknown): string | null {
  return typeof atMs === "number" ? new Date(atMs).toISOString() : null;
}

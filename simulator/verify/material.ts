import { createHash } from "node:crypto";
import { type Envelope, EVENT_TYPES, type EventType } from "../../shared/events.ts";
import { sampleObjects, sampleOrganization } from "../../shared/samples.ts";

/**
 * Makes events whose ids depend on nothing but `seed`, `scope` and how many were made before, so that checks can run
 * in any order, or at once, and still send the same.
 */
export function createMaterial(options: {
  seed: string;
  scope: string;
  /** The types that the endpoint is registered for: they replace others, which it would not be sent. */
  events: readonly EventType[];
  nowSeconds: () => number;
}) {
  let made = 0;

  function hex(label: string): string {
    return createHash("sha256")
      .update(`${options.seed}/${options.scope}/${label}`)
      .digest("hex")
      .slice(0, 32);
  }

  function object(type: EventType, label: string): Record<string, unknown> {
    const sample: Record<string, unknown> = { ...sampleObjects[type] };
    const suffix = hex(`${label}/object`).slice(0, 16);
    if (typeof sample.id === "string") sample.id = sample.id.replace(/_.*$/, `_${suffix}`);
    // A receiver that handles one caller's events in order would have to handle all of them in order.
    if (typeof sample.phone === "string")
      sample.phone = `+1555${Number.parseInt(hex(`${label}/phone`).slice(0, 8), 16)
        .toString()
        .padStart(10, "0")
        .slice(-7)}`;
    if (typeof sample.call_id === "string") sample.call_id = `call_${hex(`${label}/call`).slice(0, 16)}`;
    return sample;
  }

  function selected(type: EventType): EventType {
    if (options.events.includes(type)) return type;
    return options.events[EVENT_TYPES.indexOf(type) % options.events.length] ?? type;
  }

  return {
    hex,
    /** A new event of a documented type; `changes` are laid over its object, `envelope` over the rest. */
    event: (
      wanted: EventType = "call.completed",
      changes: Record<string, unknown> = {},
      envelope: Partial<Envelope> & Record<string, unknown> = {},
    ): Envelope => {
      const type = selected(wanted);
      made += 1;
      const label = String(made);
      return {
        id: `evt_${hex(label)}`,
        type,
        created: options.nowSeconds(),
        api_version: "v1",
        data: { object: { ...object(type, label), object: sampleObjects[type].object, ...changes } },
        org_id: sampleOrganization.id,
        ...envelope,
      };
    },
  };
}

import { type Refused, refused } from "./refused.ts";

/** What the simulator can do wrong on purpose; `at` says where: in the fan-out, the body, the signature, or on the wire. */
export const FAULTS = {
  duplicate: { at: "fan-out", title: "every event is delivered a second time, a second later" },
  "duplicate-concurrently": { at: "fan-out", title: "every event is delivered twice at the same time" },
  reorder: { at: "fan-out", title: "later events overtake earlier ones" },
  delay: { at: "fan-out", title: "deliveries start 30 s of schedule time late" },
  "unknown-type": { at: "body", title: "the event has an undocumented type" },
  "unknown-fields": { at: "body", title: "envelope and object have undocumented fields" },
  "minimal-objects": { at: "body", title: "orders and bookings have only the field `object`" },
  "next-version": { at: "body", title: "`api_version` is `v2`: a rehearsal of the next version" },
  "large-event": { at: "body", title: "the object has 900 KiB more: the largest event that can be sent" },
  "tampered-body": { at: "signature", title: "the body is changed after signing" },
  "bad-signature": { at: "signature", title: "signed with another secret" },
  "stale-timestamp": { at: "signature", title: "`t` lies 10 minutes in the past" },
  "future-timestamp": { at: "signature", title: "`t` lies 10 minutes in the future" },
  "missing-parts": { at: "signature", title: "the signature header has no `v1`" },
  "drop-answer": {
    at: "wire",
    title: "the answer is lost: the receiver worked, the service sees a closed connection",
  },
  "time-out": {
    at: "wire",
    title: "the answer comes too late: the receiver worked, the service sees a time-out",
  },
  "slow-body": { at: "wire", title: "the body arrives byte by byte over 3 s" },
  "reset-mid-body": { at: "wire", title: "the connection is reset half-way through the body" },
} as const satisfies Record<string, { at: "fan-out" | "body" | "signature" | "wire"; title: string }>;

export type FaultName = keyof typeof FAULTS;

/** A fault in force: on every attempt or, of the signature and the wire, on the first `attempts` of each delivery. */
export type Fault = { name: FaultName; attempts?: number };

export type ParsedFault = { ok: true; fault: Fault } | Refused;

export const FAULT_NAMES = Object.keys(FAULTS).filter((name) => isFaultName(name));

/** Reads `NAME`, or `NAME:N` for the first N attempts only. */
export function parseFault(text: string): ParsedFault {
  const [name = "", count, ...rest] = text.split(":");
  if (!isFaultName(name))
    return refused(`Unknown fault ${JSON.stringify(name)}: use one of ${FAULT_NAMES.join(", ")}.`);
  if (count === undefined) return { ok: true, fault: { name } };
  if (FAULTS[name].at === "fan-out" || FAULTS[name].at === "body")
    return refused(`${text}: ${name} changes the event, and so every attempt: leave :${count} out.`);
  if (rest.length > 0 || !/^[1-6]$/.test(count))
    return refused(`${text}: give a number of attempts from 1 to 6 after the colon.`);
  return { ok: true, fault: { name, attempts: Number(count) } };
}

export function formatFault(fault: Fault): string {
  return fault.attempts === undefined ? fault.name : `${fault.name}:${fault.attempts}`;
}

export function formatFaults(faults: readonly Fault[]): string {
  return faults.map(formatFault).join(", ");
}

/** The names in force on attempt `attempt` (counted from 1). */
export function faultsOnAttempt(faults: readonly Fault[], attempt: number): ReadonlySet<FaultName> {
  return new Set(faults.filter((fault) => attempt <= (fault.attempts ?? attempt)).map((fault) => fault.name));
}

/** The faults that change an attempt (counted from 1). Fan-out faults do not; a changed body changes every attempt. */
export function injectedFaults(faults: readonly Fault[], attempt: number): Fault[] {
  return faults.filter(({ name, attempts = attempt }) => {
    const { at } = FAULTS[name];
    return at === "body" || (at !== "fan-out" && attempt <= attempts);
  });
}

function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

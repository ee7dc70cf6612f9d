import type { EventType } from "../../shared/events.ts";
import { type Check, GROUPS, type Level } from "./check.ts";
import { acknowledgementChecks } from "./checks/acknowledgement.ts";
import { crashChecks } from "./checks/crash.ts";
import { duplicateChecks } from "./checks/duplicates.ts";
import { onceEffectChecks } from "./checks/effects-once.ts";
import { effectChecks } from "./checks/effects.ts";
import { evolutionChecks } from "./checks/evolution.ts";
import { loadChecks } from "./checks/load.ts";
import { rawByteChecks } from "./checks/raw-bytes.ts";
import { readingChecks } from "./checks/readings.ts";
import { acceptedSignatureChecks, formSignatureChecks } from "./checks/signature-forms.ts";
import { refusedSignatureChecks } from "./checks/signature-refused.ts";
import { signatureTimeChecks } from "./checks/signature-time.ts";
import { thoroughChecks } from "./checks/thorough.ts";
import { wireFaultChecks } from "./checks/wire-faults.ts";
import { wireFormChecks } from "./checks/wire-forms.ts";
import { type Refused, refused } from "../domain/refused.ts";

/** Every check, in the order of the reports. */
export const CATALOGUE: readonly Check[] = [
  ...acknowledgementChecks,
  ...acceptedSignatureChecks,
  ...signatureTimeChecks,
  ...refusedSignatureChecks,
  ...formSignatureChecks,
  ...rawByteChecks,
  ...duplicateChecks,
  ...evolutionChecks,
  ...wireFormChecks,
  ...wireFaultChecks,
  ...readingChecks,
  ...loadChecks,
  ...onceEffectChecks,
  ...effectChecks,
  ...crashChecks,
  ...thoroughChecks,
];

export type Selection = {
  only?: string[] | undefined;
  skip?: string[] | undefined;
  level?: Level | undefined;
  events?: readonly EventType[] | undefined;
  thorough?: boolean;
};

export type Selected = { ok: true; checks: Check[] } | Refused;

/** The checks that `selection` leaves; a pattern is a group, a check's id, or a beginning such as `signature.stale*`. */
export function selectChecks(selection: Selection, catalogue: readonly Check[] = CATALOGUE): Selected {
  for (const pattern of [...(selection.only ?? []), ...(selection.skip ?? [])]) {
    if (catalogue.some((check) => matches(check, pattern))) continue;
    return refused(
      `No check is called ${JSON.stringify(pattern)}. ` +
        `Give a group (${GROUPS.filter((group) => group !== "preflight").join(", ")}), a check's id, or a beginning followed by *. All ids: verify --list`,
    );
  }
  const thoroughOnly = selection.only?.find((pattern) => isThorough(catalogue, pattern));
  if (thoroughOnly !== undefined && selection.thorough !== true) {
    return refused(`${thoroughOnly} is run by --thorough alone, since it takes long: add that.`);
  }
  const checks = catalogue.filter(
    (check) =>
      (selection.only === undefined || selection.only.some((pattern) => matches(check, pattern))) &&
      selection.skip?.some((pattern) => matches(check, pattern)) !== true &&
      (check.thorough !== true || selection.thorough === true) &&
      (selection.level !== "must" || check.level === "must") &&
      isSentTo(selection.events, check),
  );
  if (checks.length > 0) return { ok: true, checks };
  return refused("The selection leaves no check to run. See verify --list.");
}

/** Whether nothing that `pattern` names is run without `--thorough`. */
function isThorough(catalogue: readonly Check[], pattern: string): boolean {
  return catalogue.every((check) => !matches(check, pattern) || check.thorough === true);
}

/** Whether an endpoint that is registered for `events` gets everything that the check is about. */
function isSentTo(events: readonly EventType[] | undefined, { about = [] }: Check): boolean {
  return events === undefined || about.every((type) => events.some((selected) => selected === type));
}

function matches(check: Check, pattern: string): boolean {
  if (pattern.endsWith("*")) return check.id.startsWith(pattern.slice(0, -1));
  return check.id === pattern || check.group === pattern;
}

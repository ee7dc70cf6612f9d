import { describeAccepting } from "./engine-suite/accepting.ts";
import { describeAtomically } from "./engine-suite/atomically.ts";
import { describeDraining } from "./engine-suite/draining.ts";
import { describeFairness } from "./engine-suite/fairness.ts";
import { describeFanOut } from "./engine-suite/fan-out.ts";
import { describeHandling } from "./engine-suite/handling.ts";
import { describeLate } from "./engine-suite/late.ts";
import { describeLedger } from "./engine-suite/ledger.ts";
import { describeMisuse } from "./engine-suite/misuse.ts";
import { describeOutcomes } from "./engine-suite/outcomes.ts";
import { describePolicies } from "./engine-suite/policies.ts";
import { describeReconciled } from "./engine-suite/reconciled.ts";
import { describeRetention } from "./engine-suite/retention.ts";
import { describeRetrying } from "./engine-suite/retrying.ts";
import { describeViews } from "./engine-suite/views.ts";
import { describeVanishing } from "./engine-suite/vanishing.ts";
import type { CreateBackend } from "./engine-suite/harness.ts";

/** What an engine promises. This suite is the definition: an engine that passes it may be used. */
export function describeEngine(name: string, createBackend: CreateBackend): void {
  describeAccepting(name, createBackend);
  describeReconciled(name, createBackend);
  describeHandling(name, createBackend);
  describeFanOut(name, createBackend);
  describePolicies(name, createBackend);
  describeRetrying(name, createBackend);
  describeAtomically(name, createBackend);
  describeMisuse(name, createBackend);
  describeOutcomes(name, createBackend);
  describeFairness(name, createBackend);
  describeVanishing(name, createBackend);
  describeLate(name, createBackend);
  describeDraining(name, createBackend);
  describeLedger(name, createBackend);
  describeRetention(name, createBackend);
  describeViews(name, createBackend);
}

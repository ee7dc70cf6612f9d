import { describeAccepting } from "./accepting.ts";
import { describeAtomically } from "./atomically.ts";
import { describeHandling } from "./handling.ts";
import type { CreateBackend } from "./harness.ts";
import { describeKeys } from "./keys.ts";
import { describeLedger } from "./ledger.ts";
import { describeRequeue } from "./requeue.ts";

/** The promises of a store. This suite defines them: a store that passes it may be used. */
export function describeStore(name: string, createBackend: CreateBackend): void {
  describeAccepting(name, createBackend);
  describeHandling(name, createBackend);
  describeKeys(name, createBackend);
  describeAtomically(name, createBackend);
  describeLedger(name, createBackend);
  describeRequeue(name, createBackend);
}

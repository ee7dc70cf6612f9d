import { describe } from "vitest";
import { ALL } from "../../helpers/run/sizes.ts";
import { describeAccepting } from "../engine-suite/accepting.ts";
import { describeReconciled } from "../engine-suite/reconciled.ts";
import { describeViews } from "../engine-suite/views.ts";
import { postgresBackend } from "../postgres/backend.ts";

// What is quick of the engine's suite; with all tests, all of it runs.
describe.skipIf(ALL)("of the suite of engines", () => {
  describeAccepting("PostgreSQL", postgresBackend);
  describeReconciled("PostgreSQL", postgresBackend);
  describeViews("PostgreSQL", postgresBackend);
});

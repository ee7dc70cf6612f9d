import { describeEngine } from "../engine-suite.ts";
import { postgresBackend } from "../postgres/backend.ts";

describeEngine("PostgreSQL", postgresBackend);

import { describeStore } from "../store-suite/index.ts";
import { postgresBackend } from "./backend.ts";

describeStore("PostgreSQL", postgresBackend);

import { describe } from "vitest";
import { describeStore } from "../store-suite/index.ts";
import { postgresBackend } from "./backend.ts";
import { noServer } from "./server.ts";

describe.skipIf(noServer())("on a real server", () => {
  describeStore("PostgreSQL", postgresBackend);
});

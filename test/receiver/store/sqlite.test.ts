import { describeStore } from "../store-suite/index.ts";
import { sqliteBackend } from "./sqlite.ts";

describeStore("SQLite", sqliteBackend);

import { z } from "zod";
import { defineHandler, type Handler } from "../../../receiver/work/handler.ts";

const object = z.looseObject({});
const CREATE = "CREATE TABLE raced (handler text, event_id text, attempt bigint)";
const INSERT = "INSERT INTO raced VALUES ($1, $2, $3)";

/** Three handlers of every event: one row for each time that one of their transactions was committed. */
export const handlers: Handler[] = ["plain", "ordered", "slow"].map((name) =>
  defineHandler({
    name,
    type: "*",
    object,
    migrations: name === "plain" ? [CREATE] : [],
    maxAttempts: 100,
    backoff: () => 1,
    ...(name === "ordered" ? { key: ({ id }: { id: string }) => id.slice(-2) } : {}),
    handle: async ({ id }, { atomically, attempt, signal }) => {
      if (name === "slow") await new Promise((resolve) => setTimeout(resolve, 20));
      signal.throwIfAborted();
      await atomically(async (db) => db.query(INSERT, [name, id, attempt]));
    },
  }),
);

import { z } from "zod";
import { defineHandler, type HandlerContext } from "../../receiver/work/handler.ts";

/** Handlers that do what handlers must not do, each for the type that it is called after. */
const behaviours: Record<string, (context: HandlerContext) => Promise<void> | void> = {
  works: () => undefined,
  "is-counted": () => undefined,
  blocks: () => {
    for (;;);
  },
  "blocks-in-transaction": async ({ atomically }) =>
    atomically(async (db) => {
      await db.query("CREATE TABLE IF NOT EXISTS locked (id INTEGER)");
      for (;;);
    }),
  "exhausts-memory": () => {
    const hoard: number[][] = [];
    for (;;) hoard.push(Array.from({ length: 100_000 }, Math.random));
  },
  // Outside of JavaScript's heap, whose limit says nothing of it.
  "hoards-buffers": async () => {
    const hoard = Array.from({ length: 20 }, () => Buffer.alloc(10_000_000, 1));
    await new Promise(() => hoard);
  },
  exits: () => process.exit(0),
  "crashes-later": async () => {
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 1);
    await new Promise(() => undefined);
  },
  // As dependencies do that think they were started by a test runner or a process manager.
  "sends-strangely": () => {
    process.send?.("ready");
    process.send?.({ kind: "started" });
    process.send?.({ kind: "alive", ended: "none" });
  },
  "tells-secrets": () => {
    const names = Object.keys(process.env).filter((name) => name.startsWith("SIGNING_SECRET"));
    throw new Error(`sees ${names.join(" ") || "none"}`);
  },
  "throws-synchronously": () => {
    throw new Error("at once");
  },
  "never-resolves": async () => new Promise(() => undefined),
};

export const handlers = Object.entries(behaviours).map(([type, behave]) =>
  defineHandler({
    name: type,
    type,
    object: z.unknown(),
    handle: async (_event, context) => behave(context),
  }),
);

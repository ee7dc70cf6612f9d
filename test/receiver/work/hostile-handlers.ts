import { setTimeout } from "node:timers/promises";
import Database from "better-sqlite3";
import { z } from "zod";
import type { OnDead } from "../../../receiver/work/attempt.ts";
import { defineHandler, type HandlerContext } from "../../../receiver/work/handler.ts";

/** Handlers that do what handlers must not do, each for the type that it is named after. */
const note = async ({ atomically }: HandlerContext, text: string): Promise<void> =>
  atomically(async (db) => void (await db.query("INSERT INTO notes VALUES ($1)", [text])));

const behaviours: Record<string, (context: HandlerContext) => unknown> = {
  works: (context) => note(context, `${JSON.stringify(context.services)} ${String(process.pid)}`),
  waits: () => setTimeout(600_000),
  lingers: async () => console.log(await setTimeout(500, "lingered")),
  blocks: () => {
    for (;;);
  },
  exits: () => process.exit(0),
  "exhausts-memory": () => {
    const hoard: number[][] = [];
    for (;;) hoard.push(Array.from({ length: 100_000 }, Math.random));
  },
  // In SQLite's memory, which Node.js counts neither as heap nor as buffers.
  "hoards-pages": async () => {
    const db = new Database(":memory:");
    db.exec("CREATE TABLE hoard (page)");
    for (let rows = 0; rows < 250; rows += 1)
      await setTimeout(1, db.exec("INSERT INTO hoard VALUES (zeroblob(1000000))"));
    await new Promise(() => db);
  },
  "throws-later": async () => {
    // A library calls it, so that only the first place of its stack is in this file.
    const fails = z.preprocess(() => {
      throw new RangeError("no answer from +12125550142");
    }, z.unknown());
    setImmediate(fails.parse.bind(fails), 1);
    await new Promise(() => undefined);
  },
  "ignores-deadline": async () => new Promise(() => undefined),
  "sends-strangely": (context) => {
    process.send?.("ready");
    process.send?.({ kind: "alive", ended: "none" });
    return note(context, "sent");
  },
  "shows-secrets": (context) => note(context, String(process.env["SIGNING_SECRET"])),
};

export const handlers = Object.entries(behaviours).map(([type, behave]) =>
  defineHandler({
    name: type,
    type,
    object: z.unknown(),
    migrations: ["CREATE TABLE IF NOT EXISTS notes (text TEXT)"],
    timeoutSeconds: type === "ignores-deadline" ? 0.1 : 60,
    handle: async (_event, context) => behave(context),
  }),
);

export const createServices = async () => ({
  services: { crm: "connected" },
  close: () => {
    console.log("services closed");
    process.nextTick(() => z.never().parse("not caught"));
    throw new Error("caught");
  },
});

export const onDead: OnDead = ({ handler, attempts }) =>
  console.log(`${handler} died after ${String(attempts)} attempts`);

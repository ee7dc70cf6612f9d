import { z } from "zod";
import { PermanentFailure, defineHandler } from "../../receiver/work/handler.ts";
import { handlers as own } from "../../receiver/handlers/index.ts";

const object = z.looseObject({});

/** As in canary.test.ts. */
const PASSWORD = "password_canary_31ffe0";

export const handlers = [
  ...own,
  defineHandler({
    name: "logs-that-there-was-one",
    type: "*",
    handle: async (_event, { log }) => log.info("a handler that says nothing of its event"),
  }),
  defineHandler({
    name: "throws-the-event",
    type: "throws-the-event",
    object,
    handle: async (event) => {
      throw new Error(`a handler that quotes its event: ${JSON.stringify(event.data.object)}`);
    },
  }),
  defineHandler({
    name: "dies-of-the-event",
    type: "dies-of-the-event",
    object,
    handle: async (event) => {
      throw new PermanentFailure(
        `no number ${String(event.data.object["phone"])} of ${String(event.data.object["customer_name"])}`,
      );
    },
  }),
  defineHandler({
    name: "tells-secrets",
    type: "tells-secrets",
    object,
    handle: async (_event, { log }) => {
      const { API_KEY = "" } = process.env;
      // Of what the receiver was configured with, what do handlers get to see?
      const names = Object.keys(process.env).filter((name) =>
        /^(?:SIGNING|API|ADMIN_[HT]|DATABASE)/.test(name),
      );
      log.warn({ names: names.toSorted() }, "the environment");
      log.warn({ request: { authorization: `Bearer ${API_KEY}` } }, `of https://me:${PASSWORD}@example.com/`);
      throw new Error(`a handler that tells secrets: ${API_KEY} https://me:${PASSWORD}@example.com/`);
    },
  }),
  defineHandler({
    name: "crashes-with-the-event",
    type: "crashes-with-the-event",
    object,
    handle: async (event) => {
      setImmediate(() => {
        throw new Error(`a handler that quotes its event: ${JSON.stringify(event.data.object)}`);
      });
      await new Promise(() => undefined);
    },
  }),
  defineHandler({
    name: "logs-the-event",
    type: "logs-the-event",
    object,
    handle: async (event, { log }) => {
      log.info(
        { event, object: event.data.object, list: [event.data.object] },
        "a handler that quotes its event",
      );
      log.error({ err: Object.assign(new Error("with a cargo"), { request: event }) }, "failed");
    },
  }),
];

import { Router, urlencoded, type Request, type Response } from "express";
import { z } from "zod";
import { eventIdSchema } from "../../../shared/events.ts";
import type { Clock } from "../../clock.ts";
import { EVENT_STATES, type Ledger } from "../../engine.ts";
import type { Health } from "../health.ts";
import type { Log } from "../log.ts";
import { redactEnvelope, shownType } from "../privacy.ts";
import { groupDeadLetters, selectRequeueable, type Selection } from "./dead-letters.ts";
import { confirmation, eventList, eventPage, requeued } from "./events.ts";
import { html, type Html } from "./html.ts";
import { layout } from "./layout.ts";
import { overview, type Look } from "./overview.ts";
import { CONTENT_SECURITY_POLICY } from "./style.ts";

const LIST_LIMIT = 50;
/** Two operators who look at nearly the same time both compare with the look before. */
const SAME_LOOK_MS = 5_000;
/** More than a form with every box of a page ticked. */
const MAXIMUM_FORM_BYTES = 65_536;

/**
 * The operator's page: what waits, what died and why, one event with its jobs, and requeue of one, some or all that
 * match. Plain HTML and forms, no script. Who may ask is decided by the admin app before it; the operator's name, where
 * it knows one, stands in `response.locals.operator`. To do without the page, delete this folder and its lines there.
 */
export function createOperatorPage(options: {
  ledger: Ledger;
  health: Health;
  log: Log;
  clock: Clock;
  /** Whether envelopes are shown whole; otherwise without what may be about a person. */
  showBodies: boolean;
}): Router {
  const { ledger, health, log, clock, showBodies } = options;
  const router = Router();
  let before: Look | undefined;
  let last: Look | undefined;

  router.get("/", async (_request, response) => {
    const [counts, dead, { checks }] = await Promise.all([
      ledger.counts(),
      groupDeadLetters(ledger),
      health.readiness(),
    ]);
    const look = { atMs: clock.nowMs(), counts };
    if (!last || look.atMs - last.atMs >= SAME_LOOK_MS) [before, last] = [last, look];
    const compared = before ?? (last === look ? undefined : last);
    send(response, "Overview", overview({ look, before: compared, dead, checks }));
  });

  router.get("/events", async (request, response) => {
    const asked = listSchema.safeParse(request.query);
    if (!asked.success) return refuse(response, describe(asked.error));
    const { before_seq: beforeSeq, ...filter } = asked.data;
    const [events, handlers] = await Promise.all([
      ledger.list(filter, { limit: LIST_LIMIT, beforeSeq }),
      ledger.handlers(),
    ]);
    const nextBeforeSeq = events.length === LIST_LIMIT ? events.at(-1)?.seq : undefined;
    const names = handlers.map(({ name }) => name);
    const nowMs = clock.nowMs();
    return send(response, "Events", eventList({ events, filter, nextBeforeSeq, handlers: names, nowMs }));
  });

  router.get("/events/:id", async (request, response) => {
    const id = eventIdSchema.safeParse(request.params.id);
    const event = id.success ? await ledger.find(id.data) : undefined;
    if (!event) return refuse(response, `No event ${request.params.id} was accepted here.`, 404);
    const bytes = await ledger.body(event.seq);
    const body = bytes && shown(bytes);
    const title = event.type === null ? "A forgotten event" : shownType(event.type);
    return send(response, title, eventPage({ event, body, isRedacted: !showBodies, nowMs: clock.nowMs() }));
  });

  router.post(
    "/requeue",
    urlencoded({ extended: false, limit: MAXIMUM_FORM_BYTES }),
    async (request, response) => {
      // A browser says where a form came from: another site's must not requeue anything with this operator's rights.
      if (!isOwnForm(request)) return refuse(response, "This form did not come from this page.", 403);
      const asked = requeueSchema.safeParse(request.body ?? {});
      if (!asked.success) return refuse(response, describe(asked.error));
      const { id: ids, confirmed, ...selection } = asked.data;
      if (ids.length === 0 && selection.state === undefined)
        return refuse(response, "Nothing was chosen: tick at least one event.");
      if (confirmed !== "yes") {
        const count = ids.length > 0 ? ids.length : await total(selection, ({ length }) => length);
        const fields = [...ids.map((id) => ["id", id] as const), ...Object.entries(selection)];
        return send(response, "Requeue", confirmation({ count, fields, back: "/" }));
      }
      const requeue = async (these: readonly string[]) => ledger.requeue(these, selection.handler);
      const count = ids.length > 0 ? await requeue(ids) : await total(selection, requeue);
      log.warn(
        { operator: operatorOf(response), requeued: count, ...selection, ids: ids.length },
        "an operator requeued events",
      );
      return send(response, "Requeued", requeued(count));
    },
  );

  return router;

  /** Goes through what is meant, a page at a time. */
  async function total(
    selection: Selection,
    of: (ids: string[]) => Promise<number> | number,
  ): Promise<number> {
    let count = 0;
    for await (const ids of selectRequeueable(ledger, selection)) count += await of(ids);
    return count;
  }

  function shown(bytes: Uint8Array): string {
    const envelope: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return JSON.stringify(showBodies ? envelope : redactEnvelope(envelope), undefined, 2);
  }
}

/** An empty field of a form means that it was not filled in. */
const text = z
  .string()
  .max(500)
  .transform((value) => (value === "" ? undefined : value))
  .optional();
const filterFields = {
  state: z.preprocess((value) => (value === "" ? undefined : value), z.enum(EVENT_STATES).optional()),
  type: text,
  handler: text,
};
const listSchema = z.object({ ...filterFields, before_seq: z.coerce.number().int().min(1).optional() });
const requeueSchema = z.object({
  ...filterFields,
  error: text,
  confirmed: z.string().optional(),
  id: z.preprocess((value) => (value === undefined ? [] : [value].flat()), z.array(eventIdSchema).max(1_000)),
});

function isOwnForm({ headers }: Request): boolean {
  const { origin, host } = headers;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

function operatorOf(response: Response): string {
  const name: unknown = response.locals["operator"];
  return typeof name === "string" && name !== "" ? name : "unnamed";
}

function send(response: Response, title: string, main: Html): void {
  response
    .set({
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
    })
    .type("html")
    .send(layout({ title, main }));
}

function refuse(response: Response, message: string, status = 400): void {
  response.status(status);
  send(response, "Not done", html`<p>${message}</p>`);
}

function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

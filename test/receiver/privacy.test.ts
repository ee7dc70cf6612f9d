import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createHandlerLog } from "../../receiver/operations/handler-log.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { redactEnvelope } from "../../receiver/operations/privacy.ts";
import { createScrubber } from "../../receiver/operations/scrubber.ts";
import { envelopeSchema, eventSchema, EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope, sampleObjects } from "../../shared/samples.ts";

/** What an event says about a person must not be shown, wherever in the event it stands. */

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 300) };

const scrub = (text: string, body: string): string => createScrubber(body).text(text);

const NAME = "Featherstone";
const PHONE = 12125550199;

/** Each place has the name or the number in it. */
const PLACES: Record<string, Record<string, unknown>> = {
  "a field of the envelope": { caller: NAME },
  "a name of a field": { [NAME]: true },
  "a list": { participants: ["x", NAME] },
  "a list of lists": { participants: [[[NAME]]] },
  "an object beside data.object": { data: { object: { object: "call" }, previous: { who: NAME } } },
  "a field beside data": { metadata: { deep: { deeper: { who: NAME } } } },
  "a field with a harmless name": { data: { object: { object: "call", status: NAME } } },
  "an outcome that is none": { data: { object: { object: "call", outcome: NAME } } },
  "an id that is none": { data: { object: { object: "call", id: NAME } } },
  "a type that is made up": { type: NAME },
  "a number": { phone_number: PHONE },
  "a number in a list": { phone_numbers: [PHONE] },
  "an api_version that is none": { api_version: NAME },
  "an org_id that is none": { org_id: `org_${NAME}` },
  "a harmless name of the envelope, deeper": { customer: { created: PHONE % 10_000_000_000, type: NAME } },
  "a harmless name of the object, deeper": {
    data: { object: { object: "call", who: { duration_sec: PHONE } } },
  },
  "a harmless name of the object, outside": { outcome: NAME, duration_sec: PHONE },
  "a harmless name in a list": { data: { object: [{ created_at: NAME }] } },
  "a number that could be an id": { data: { object: { object: "call", id: `call_${String(PHONE)}` } } },
  "a number that could be a point in time": { created: PHONE },
  "a key that looks like a path": { "data.object.outcome": NAME },
};

describe("an exported envelope", () => {
  test.for(Object.keys(PLACES))("tells nothing that stands in %s", (place) => {
    const envelope = { ...sampleEnvelope("call.completed"), ...PLACES[place] };
    const text = JSON.stringify(redactEnvelope(envelope));
    expect(text).not.toContain(NAME);
    // Also without its country.
    expect(text).not.toContain(String(PHONE).slice(1));
    // The control: it was there.
    expect(JSON.stringify(envelope)).toMatch(new RegExp(`${NAME}|${String(PHONE).slice(1)}`));
  });

  test.for(EVENT_TYPES)("of %s is still valid, and keeps what makes it that event", (type) => {
    const redacted = redactEnvelope(sampleEnvelope(type));
    expect(envelopeSchema.safeParse(redacted).success).toBe(true);
    const { id, object } = sampleObjects[type];
    expect(eventSchema(type).parse(redacted)).toMatchObject({ type, data: { object: { id, object } } });
    const text = JSON.stringify(redacted);
    for (const personal of [
      "5550142",
      "5550177",
      "Jordan",
      "Margherita",
      "Sunday",
      "call me back",
      "Boiler",
      "11.50",
    ]) {
      expect(text).not.toContain(personal);
    }
  });

  test("says of a call how it went and how long it took, and of numbers and texts nothing else", () => {
    const call = { ...sampleObjects["call.completed"], duration_sec: 94, age: 94, vip: true };
    const redacted = redactEnvelope(sampleEnvelope("call.completed", { data: { object: call } }));
    expect(redacted).toMatchObject({
      data: {
        object: {
          outcome: "completed",
          duration_sec: 94,
          phone: "+10000000000",
          transcript: "[redacted]",
          created_at: call.created_at,
          field_14: 0,
          field_15: false,
        },
      },
    });
  });
});

describe("an error message", () => {
  const body = JSON.stringify(sampleEnvelope("voicemail.created"));

  test("loses what it repeats of the event, and keeps the ids that find it", () => {
    const message =
      "cannot call +12125550177 (Jordan Ellis) for vm_70a3d2c95be146f8: Hi, please call me back about a table for twelve on Friday.";
    expect(scrub(message, body)).toBe(
      "cannot call +10000000000 ([redacted]) for vm_70a3d2c95be146f8: [redacted]",
    );
  });

  test.for<[string, string, string]>([
    ["half of a text", "invalid: lease call me back about a ta…", "lease call me back"],
    ["a single name", "no customer called JORDAN", "JORDAN"],
    ["a text as JSON writes it", String.raw`at {"a":"Hi, \"please\" call\nme tomorrow"}`, "tomorrow"],
    ["a number of another form", "customer 12125550177", "12125550177"],
  ])("loses %s", ([, message, secret]) => {
    const envelope = sampleEnvelope("voicemail.created");
    const quoted = { ...envelope, note: 'Hi, "please" call\nme tomorrow' };
    const scrubbed = scrub(message, JSON.stringify(quoted));
    expect(message).toContain(secret);
    expect(scrubbed).not.toContain(secret);
    expect(scrubbed.slice(0, 3)).toBe(message.slice(0, 3));
  });

  test("loses a text of which JSON leaves no eight characters as they were", () => {
    const note = '"ab" "cd" '.repeat(6);
    const event = JSON.stringify({ ...sampleEnvelope("call.completed"), note });
    expect(scrub(`at ${JSON.stringify({ note })}`, event)).not.toMatch(/ab|cd/);
  });

  test.for(Object.keys(PLACES))("loses what stands in %s", (place) => {
    const event = JSON.stringify({ ...sampleEnvelope("call.completed"), ...PLACES[place] });
    const scrubbed = scrub(`no such thing: ${NAME} or ${String(PHONE)} it was`, event);
    expect(scrubbed).not.toContain(JSON.stringify(PLACES[place]).includes(NAME) ? NAME : String(PHONE));
  });

  test("that has nothing to do with the event stays what it is, up to a length", () => {
    const message = "Error: connect ECONNREFUSED 127.0.0.1:5432 while charging for call_e8f1a4630bd24c97";
    expect(scrub(message, body)).toBe(message);
    const { created } = sampleEnvelope("voicemail.created");
    expect(scrub(`not before ${String(created)}`, body)).toBe(`not before ${String(created)}`);
    expect(scrub("y".repeat(5_000), body)).toHaveLength(1_000);
    expect(scrub("+4915112345678 of another", "not JSON")).toBe("+10000000000 of another");
  });

  test("a phone number at the place where a long text is cut is taken out before it is", () => {
    const scrubbed = scrub(`${"x".repeat(994)} +14155550123`, body);
    expect(scrubbed).toHaveLength(1_000);
    expect(scrubbed.slice(994)).toBe(" +1000");
  });

  test("may end as a longer text of the event does, by fewer than sixteen characters", () => {
    const event = JSON.stringify({ note: `${"x".repeat(34)} see you later` });
    expect(scrub("they said see you later", event)).toBe("they said see you later");
  });

  test("comes to its end beside a text that repeats itself a hundred thousand times", () => {
    const note = "ab ab ab ".repeat(110_000);
    expect(scrub(note.slice(1, 20_000), JSON.stringify({ note }))).toBe("[redacted]");
  });

  test("never holds sixteen characters in a row of a longer text of the event, wherever the quotation begins and ends", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 41, maxLength: 200, unit: "grapheme" }),
        fc.nat(),
        fc.nat(),
        fc.string({ maxLength: 100 }),
        (text, from, length, around) => {
          const start = from % text.length;
          const quotation = text.slice(start, start + 16 + (length % text.length));
          const event = JSON.stringify({ unknown: [{ text }] });
          const scrubbed = scrub(`${around}${quotation}${around}`, event);
          // What the mark itself and the frame say may stand in the text as well.
          const said = scrubbed.replaceAll("[redacted]", "\u0001").replaceAll(around, "\u0001");
          for (let at = 0; at + 16 <= quotation.length; at += 1) {
            expect(said.includes(quotation.slice(at, at + 16))).toBe(false);
          }
        },
      ),
      RUNS,
    );
  });
});

describe("what a handler logs", () => {
  const envelope = sampleEnvelope("voicemail.created");
  const body = JSON.stringify({ ...envelope, account: 9876543 });

  function logged(write: (log: ReturnType<typeof createHandlerLog>) => void): Record<string, unknown> {
    const lines: string[] = [];
    const log = createLog({ level: "debug", destination: { write: (line) => void lines.push(line) } });
    write(
      createHandlerLog(log, {
        id: envelope.id,
        type: envelope.type,
        handler: "list-callback",
        attempt: 2,
        body,
      }),
    );
    expect(lines).toHaveLength(1);
    return JSON.parse(lines[0]!) as Record<string, unknown>;
  }

  test("carries the event's id, type and attempt, and loses what the event contains in values, names and numbers", () => {
    const line = logged((log) =>
      log.info(
        {
          event: envelope,
          "Jordan Ellis": 1,
          deep: [{ n: 9876543, other: 5 }],
          vm: envelope.data.object["id"],
        },
        "called Jordan Ellis",
      ),
    );
    expect(line).toMatchObject({
      level: "info",
      event_id: envelope.id,
      type: "voicemail.created",
      attempt: 2,
      msg: "called [redacted]",
      deep: [{ n: "[redacted]", other: 5 }],
      vm: "vm_70a3d2c95be146f8",
    });
    for (const secret of ["Jordan", "5550177", "twelve on Friday", "9876543"])
      expect(JSON.stringify(line)).not.toContain(secret);
  });

  test("keeps the handler's own words and the service's", () => {
    const { id: call_id, agent_id } = sampleObjects["call.completed"];
    const call = { object: "call", id: call_id, agent_id, note: "good outcome, status 7" };
    const event = sampleEnvelope("call.completed", { data: { object: call } });
    const lines: string[] = [];
    const log = createLog({ level: "info", destination: { write: (line) => void lines.push(line) } });
    const context = {
      id: event.id,
      type: event.type,
      handler: "log-call",
      attempt: 1,
      body: JSON.stringify(event),
    };
    createHandlerLog(log, context).info({ call_id, status: "kept", outcome: 3 }, "call logged");
    expect(JSON.parse(lines[0]!)).toMatchObject({
      call_id,
      status: "kept",
      outcome: 3,
      msg: "call logged",
    });
  });

  test("keeps its own fields whatever words the event happens to hold, the same way every time", () => {
    const order = (extra: object) =>
      JSON.stringify(sampleEnvelope("order.created", { data: { object: { object: "order", ...extra } } }));
    const odd = { status: "accepted", state: "status", channel: "TABLE_7", customer_name: "page" };
    const lines = [order({}), order(odd)].map((event) => {
      const said: Record<string, unknown>[] = [];
      const destination = {
        write: (line: string) => void said.push(JSON.parse(line) as Record<string, unknown>),
      };
      const claim = { id: "evt_1", type: "order.created", handler: "kitchen", attempt: 1, body: event };
      const log = createHandlerLog(createLog({ level: "info", destination }), claim);
      log.info(
        { status: "accepted", name: "ticket", channel: "TABLE_7", at: new Date(0), page: 1 },
        "accepted, status sent",
      );
      return { ...said[0], time: undefined };
    });
    expect(lines[0]).toMatchObject({
      handler: "kitchen",
      status: "accepted",
      name: "ticket",
      channel: "TABLE_7",
      at: "1970-01-01T00:00:00.000Z",
      msg: "accepted, status sent",
    });
    expect(lines[1]).toEqual(lines[0]);
  });

  test("loses what fields hold whose names say that it is personal or secret, in any spelling", () => {
    const personal = {
      customerName: "x y",
      "caller-phone": 5,
      notes: ["no nuts"],
      delivery_address: { street: "7 b st" },
      apiKey: "k",
      authorization: "Bearer k",
      email: null,
      password: true,
    };
    const line = logged((log) => log.info({ ...personal, phones_tried: 2, notebook: "kept" }));
    for (const field of [
      "customerName",
      "caller-phone",
      "notes",
      "delivery_address",
      "apiKey",
      "authorization",
    ])
      expect(line[field]).toBe("[redacted]");
    expect(line).toMatchObject({ email: null, password: true, phones_tried: 2, notebook: "kept" });
  });

  test("may be what knows how it is written, such as a date or an address, without what is personal in it", () => {
    const url = new URL("https://crm.example/contacts?phone=+12125550177");
    const line = logged((log) => log.info({ url, never: new Date(Number.NaN), list: [new Date(0)] }));
    expect(line).toMatchObject({
      url: "https://crm.example/contacts?phone=+10000000000",
      never: null,
      list: ["1970-01-01T00:00:00.000Z"],
    });
  });

  test("may be an error, which loses its cargo", () => {
    const error = Object.assign(new Error("for Jordan Ellis"), { request: envelope });
    const line = logged((log) => log.error({ err: error }, "failed"));
    expect(line).toMatchObject({
      level: "error",
      msg: "failed",
      err: { message: "for [redacted]" },
    });
    expect(JSON.stringify(line)).not.toMatch(/Jordan|5550177/);
    expect(logged((log) => log.warn(error))).toMatchObject({ err: { type: "Error" } });
  });

  test("may go round in circles", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    expect(JSON.stringify(logged((log) => log.info(circle)))).toContain("[too deep]");
  });

  test("is looked at up to two hundred entries, of a list as of an object", () => {
    const many = Array.from({ length: 300 }, (_, index) => index % 10);
    const line = logged((log) =>
      log.info({ many, named: Object.fromEntries(many.map((_, at) => [`n${at}`, true])) }),
    );
    expect(line).toMatchObject({ many: { length: 200 } });
    expect(Object.keys(line["named"] ?? {})).toHaveLength(200);
  });

  test("costs nothing below the level", () => {
    const log = createLog({ level: "warn", destination: { write: () => expect.unreachable() } });
    const event = {
      id: "x",
      type: "y",
      handler: "z",
      attempt: 1,
      get body(): string {
        return expect.unreachable();
      },
    };
    createHandlerLog(log, event).info({ a: 1 }, "unheard");
  });
});

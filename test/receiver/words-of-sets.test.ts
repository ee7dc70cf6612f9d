import { chmodSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Receipt } from "../../receiver/intake/inbox.ts";
import { runJob } from "../../receiver/operations/commands/inbox-run.ts";
import { createHandlerLog } from "../../receiver/operations/handler-log.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { createMetrics } from "../../receiver/operations/metrics.ts";
import { exposedFiles } from "../../receiver/operations/private-files.ts";
import { watchFiles } from "../../receiver/work/watch-files.ts";
import { standingClock } from "./helpers/clock.ts";
import { newEventId } from "./helpers/events.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { recordingTerminal } from "./helpers/terminal.ts";

/** What is said of several words, files or reasons holds for each of them. */

const PERSONAL = `
  phone phones phone_number phone_numbers mobile telephone fax email e_mail emails mail_address
  email_address address street customer_name caller_name contact_name guest_name recipient_name
  first_name last_name full_name given_name family_name surname birthday date_of_birth transcript
  message_text note notes comment comments recording_url transfer_to password passphrase secret
  token authorization cookie api_key apikey signature`
  .trim()
  .split(/\s+/);

test.each(PERSONAL)("what a handler logs as %s is left out, however the name is written", (name) => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const claim = { id: "evt_1", type: "call.completed", handler: "crm", attempt: 1, body: "{}" };
  const words = name.split("_");
  const camel = words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
  const names = [name, `their_${name}`, camel, words.join("-"), name.toUpperCase()];
  for (const field of names) createHandlerLog(log, claim).info({ [field]: "plain", beside: "plain" });
  const shown = lines.map(
    ({ level: _l, time: _t, event_id: _e, type: _y, handler: _h, attempt: _a, ...own }) => own,
  );
  expect(shown).toEqual(names.map((field) => ({ [field]: "[redacted]", beside: "plain" })));
});

test.each(["status", "order_id", "reason", "duration", "notable", "addressee", "mobility", "tokens"])(
  "what a handler logs as %s is everybody's",
  (field) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      level: "info",
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    const claim = { id: "evt_1", type: "call.completed", handler: "crm", attempt: 1, body: "{}" };
    createHandlerLog(log, claim).info({ [field]: "plain" });
    expect(lines).toMatchObject([{ [field]: "plain" }]);
  },
);

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

test.each(LOG_LEVELS)(
  "at the level %s a handler's log writes what is as bad or worse, each line with whose it is",
  (level) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } });
    const claim = { id: "evt_1", type: "made.up", handler: "crm", attempt: 2, body: "{}" };
    for (const trace of [null, { requestId: "request 1" }, { traceparent: "00-1" }]) {
      const own = createHandlerLog(log, { ...claim, trace });
      for (const one of LOG_LEVELS) {
        own[one]("words");
        own[one]({ count: 3 }, "words and fields");
        own[one]({ count: 3 });
        own[one](7);
      }
    }
    const expected = [{}, { request_id: "request 1" }, {}].flatMap((request) =>
      LOG_LEVELS.slice(LOG_LEVELS.indexOf(level)).flatMap((one) => {
        const common = {
          level: one,
          time: expect.any(String),
          event_id: "evt_1",
          type: "made.up",
          handler: "crm",
        };
        const line = { ...common, attempt: 2, ...request };
        return [
          { ...line, msg: "words" },
          { ...line, count: 3, msg: "words and fields" },
          { ...line, count: 3 },
          { ...line, value: 7 },
        ];
      }),
    );
    expect(lines).toEqual(expected);
  },
);

test("a handler that is run by hand sees none of the variables that would let it sign or ask as an operator", async () => {
  const names = ["SIGNING_SECRET", "SIGNING_SECRET_FILE", "ADMIN_TOKEN", "ADMIN_TOKEN_FILE", "ADMIN_HOST"];
  const before = { ...process.env };
  onTestFinished(() => {
    for (const name of names) if (before[name] === undefined) delete process.env[name];
  });
  const receiver = await startTestReceiver();
  for (const name of [...names, "MINE"]) process.env[name] = "x";
  onTestFinished(() => void delete process.env["MINE"]);
  await expect(
    runJob({ ...receiver, terminal: recordingTerminal() }, newEventId(), {}),
  ).rejects.toMatchObject({ exitCode: 2 });
  expect([...names, "MINE"].filter((name) => process.env[name] !== undefined)).toEqual(["MINE"]);
});

test.each(["", "-wal", "-shm"])("the file receiver.db%s is exposed by each bit of others", (suffix) => {
  const file = join(temporaryDirectory(), "receiver.db");
  writeFileSync(file + suffix, "x");
  for (const bit of [0, 0o001, 0o002, 0o004, 0o010, 0o020, 0o040]) {
    chmodSync(file + suffix, 0o600 | bit);
    expect(exposedFiles([file])).toEqual(bit === 0 ? [] : [file + suffix]);
  }
});

const OURS = ["disk_low", "overloaded", "bug"];
const THEIRS = [
  "draining",
  "encoding.unsupported",
  "entity.too.large",
  "request.aborted",
  "body_already_read",
];

test.each([...OURS, ...THEIRS])("who is the reason of a refusal for %s is counted", async (reason) => {
  const metrics = createMetrics({
    counts: () => Promise.reject(new Error("nobody asks")),
    workerAlive: undefined,
  });
  metrics.refused(reason);
  const of = OURS.includes(reason) ? "unavailable" : "refused";
  const { body } = await metrics.text();
  expect(body).toContain(`receiver_rejections_total{reason="${reason}",class="${of}"} 1`);
});

test.each<[Receipt, string]>([
  [{ kind: "invalid_signature", reason: "no_match" }, 'reason="no_match",class="refused"'],
  [{ kind: "invalid_json", message: "" }, 'reason="invalid_json",class="refused"'],
  [{ kind: "invalid_event", message: "" }, 'reason="invalid_event",class="refused"'],
  [{ kind: "unavailable", reason: "full", detail: "" }, 'reason="full",class="unavailable"'],
  [{ kind: "unavailable", reason: "timeout", detail: "" }, 'reason="timeout",class="unavailable"'],
])("a receipt %o is counted by its reason, and timed by its kind", async (receipt, labels) => {
  const metrics = createMetrics({
    counts: () => Promise.reject(new Error("nobody asks")),
    workerAlive: undefined,
  });
  metrics.received(receipt, 0.25);
  const { body } = await metrics.text();
  expect(body).toContain(`receiver_rejections_total{${labels}} 1`);
  expect(body).toContain(`receiver_acknowledgement_seconds_sum{result="${receipt.kind}"} 0.25`);
});

test("of the files that were followed only those are heard of that still are, until the stop", async () => {
  const [one = "", two = ""] = ["one.ts", "two.ts"].map((name) => join(temporaryDirectory(), name));
  const clock = standingClock();
  let heard = 0;
  const watch = watchFiles(() => void (heard += 1), clock);
  let seconds = 0;
  /** How often somebody hears of files that change at once. */
  const change = async (...files: string[]): Promise<number> => {
    const before = heard;
    seconds += 1;
    for (const file of files) {
      writeFileSync(file, "x");
      utimesSync(file, seconds, seconds);
    }
    await clock.pass(1_000);
    return heard - before;
  };
  await change(one, two);
  watch.follow([one]);
  expect([await change(two), await change(one)]).toEqual([0, 1]);
  watch.follow([two]);
  expect([await change(one), await change(two)]).toEqual([0, 1]);
  // What has changed since it was looked at last counts, though others are followed now.
  utimesSync(two, 1_000, 1_000);
  watch.follow([one, two]);
  expect(await change()).toBe(1);
  unlinkSync(two);
  await clock.pass(200);
  expect([heard, await change(two), await change()]).toEqual([4, 1, 0]);
  watch.stop();
  expect([await change(one), clock.waiting()]).toEqual([0, 0]);
});

test.each([
  ["order.created", "order.created"],
  ["made.up", "made.up"],
  ["Made Up", "other"],
  ["+12125550142", "other"],
  ["x".repeat(99), "other"],
])("a handler's log says the type %s as %s", (type, shown) => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  createHandlerLog(log, { id: "evt_1", type, handler: "crm", attempt: 1, body: "{}" }).info("words");
  expect(lines).toMatchObject([{ type: shown }]);
});

test("a handler's log goes eight levels deep", () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const nested = (levels: number): unknown => (levels === 0 ? "here" : { in: nested(levels - 1) });
  const own = createHandlerLog(log, { id: "evt_1", type: "made.up", handler: "crm", attempt: 1, body: "{}" });
  for (const levels of [8, 9]) own.info(nested(levels));
  expect(lines.map((line) => JSON.stringify(line).includes("[too deep]"))).toEqual([false, true]);
});

import assert from "node:assert/strict";
import Database from "better-sqlite3";
import { keyOf } from "../../receiver/engines/sqlite/inbox-file.ts";
import { EFFECTS } from "./handlers.ts";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";

type EventRow = { seq: number; key: string; bodyIsThere: 0 | 1; type: string; objectId: string | null };
type JobRow = { seq: number; handler: string | null; state: string; attempts: number };
type EffectRow = { eventId: string; type: string; objectId: string };

/** What both files hold at one moment, read past the receiver. */
export type Picture = {
  events: Map<string, EventRow>;
  /** Keys under which the service sent what `reconcile` had found, with the keys of the events that they name. */
  aliases: Map<string, string>;
  /** By the seq of their events. */
  jobs: Map<number, JobRow[]>;
  effects: EffectRow[];
  position: number;
  /** Ids of the workers that hold events. */
  holders: string[];
};

export function takePicture(file: string): Picture {
  const inbox = new Database(file, { readonly: true });
  const work = new Database(workFileOf(file), { readonly: true });
  try {
    const events = inbox
      .prepare<[], EventRow>(
        "SELECT seq, lower(hex(key)) AS key, body IS NOT NULL AS bodyIsThere, type, object_id AS objectId FROM events",
      )
      .all();
    const keys = new Map(events.map(({ seq, key }) => [seq, key]));
    const aliases = inbox
      .prepare<[], { key: string; seq: number }>("SELECT lower(hex(key)) AS key, seq FROM aliases")
      .all()
      .flatMap(({ key, seq }): [string, string][] => [[key, keys.get(seq) ?? ""]]);
    return {
      aliases: new Map(aliases),
      events: new Map(events.map((event) => [event.key, event])),
      jobs: Map.groupBy(
        work
          .prepare<[], JobRow>(
            "SELECT job / 1024 AS seq, name AS handler, state, attempts FROM jobs LEFT JOIN handlers ON number = handler",
          )
          .all(),
        ({ seq }) => seq,
      ),
      // A power cut right after the start takes the handlers' table back too, and the next start makes it again.
      effects: hasEffects(work)
        ? work
            .prepare<[], EffectRow>("SELECT event_id AS eventId, type, object_id AS objectId FROM effects")
            .all()
        : [],
      holders: work
        .prepare<[], string>(
          "SELECT DISTINCT id FROM jobs JOIN workers ON number = worker WHERE state = 'claimed'",
        )
        .pluck()
        .all(),
      position: work.prepare<[], number>("SELECT seq FROM position").pluck().get() ?? 0,
    };
  } finally {
    inbox.close();
    work.close();
  }
}

function hasEffects(work: Database.Database): boolean {
  return work.prepare("SELECT 1 FROM sqlite_master WHERE name = 'effects'").get() !== undefined;
}

/** The state of an event in the words of the receiver's port. */
export function stateOf(picture: Picture, event: EventRow): string {
  const jobs = picture.jobs.get(event.seq);
  if (jobs) return stateOfJobs(jobs.map(({ state }) => state));
  if (event.seq > picture.position) return "pending";
  return event.bodyIsThere === 1 ? "without a row" : "pruned";
}

function stateOfJobs(states: readonly string[]): string {
  const order = [
    "claimed",
    "offered",
    "fresh",
    "pending",
    "suspect",
    "held",
    "dead",
    "pruned",
    "done",
    "ignored",
  ];
  const state = order.find((one) => states.includes(one)) ?? "";
  return ["offered", "fresh", "suspect", "held"].includes(state) ? "pending" : state;
}

/** The state of the job whose handler writes an effect; the event's, where there is none any more. */
function stateOfEffect(picture: Picture, event: EventRow): string {
  const job = picture.jobs.get(event.seq)?.find(({ handler }) => handler?.startsWith(EFFECTS));
  return job?.state ?? stateOf(picture, event);
}

/** What the simulation remembers beside the files, by the keys of events. */
export type Known = {
  acknowledged: ReadonlySet<string>;
  /** What the service has sent, or its REST API has shown, and whether somebody handles its type. */
  genuine: ReadonlyMap<string, { isHandled: boolean }>;
  maximumAttempts: number;
  /** Seen in a picture. */
  stored: Set<string>;
  /** Which event an id of the service names, where `reconcile` had found it first. */
  aliases: Map<string, string>;
  /** Reported or seen done, ignored or pruned: such an event may be forgotten one day. */
  finished: Set<string>;
  /** Forgotten with its id: who sends it again after that time brings a new event. */
  forgotten: Set<string>;
};

/** What must hold at every moment, between any two statements, and on any disk that a power cut leaves behind. */
export function checkPicture(picture: Picture, known: Known): void {
  for (const [alias, key] of picture.aliases) if (key !== "") known.aliases.set(alias, key);
  for (const id of known.acknowledged) {
    const key = known.aliases.get(id) ?? id;
    if (!picture.events.has(key))
      assert.ok(known.finished.has(key), `R1: evt_${id} was acknowledged, and is not stored`);
  }
  for (const key of known.stored) {
    if (picture.events.has(key)) continue;
    assert.ok(known.finished.has(key), `R4: evt_${key} vanished before it had ended`);
    known.forgotten.add(key);
  }
  for (const event of picture.events.values()) {
    known.stored.add(event.key);
    // What a power cut took back has not ended.
    if (["done", "ignored", "pruned"].includes(stateOf(picture, event))) known.finished.add(event.key);
    else known.finished.delete(event.key);
    assert.ok(known.genuine.has(event.key), `R2: evt_${event.key} is stored, and the service never sent it`);
    assert.notEqual(stateOf(picture, event), "without a row", `R6: nobody will ever handle evt_${event.key}`);
    const attempts = Math.max(0, ...(picture.jobs.get(event.seq) ?? []).map((job) => job.attempts));
    assert.ok(attempts <= known.maximumAttempts, `evt_${event.key} was attempted ${String(attempts)} times`);
  }
  const seqs = new Set([...picture.events.values()].map(({ seq }) => seq));
  for (const { seq, state } of [...picture.jobs.values()].flat())
    assert.ok(seqs.has(seq) || state === "pruned", `a ${state} event is in the work file only`);

  const seen = new Set<string>();
  for (const { eventId, type, objectId } of picture.effects) {
    const key = keyOf(eventId).toString("hex");
    if (known.forgotten.has(key)) continue;
    const object = `${type} of ${objectId}`;
    assert.ok(!seen.has(object), `R5: ${object} (${eventId}) has two effects`);
    seen.add(object);
    const event = picture.events.get(key);
    const state = event && stateOfEffect(picture, event);
    assert.ok(
      state === undefined || state === "done" || state === "pruned",
      `R5: ${eventId} has an effect and is ${String(state)}`,
    );
  }
  const withEffect = new Set(picture.effects.map(({ eventId }) => keyOf(eventId).toString("hex")));
  for (const event of picture.events.values()) {
    const isDone = ["done", "pruned"].includes(stateOfEffect(picture, event));
    if (isDone && known.genuine.get(event.key)?.isHandled === true)
      assert.ok(withEffect.has(event.key), `R5: evt_${event.key} is done, and its effect is gone`);
  }
}

/** R4: what was dead is still there. */
export function checkPruned(before: Picture, after: Picture): void {
  for (const [key, event] of before.events) {
    if (stateOf(before, event) === "dead")
      assert.equal(after.events.get(key)?.bodyIsThere, 1, `R4: evt_${key} was dead, and was pruned`);
  }
}

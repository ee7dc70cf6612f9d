import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type { Acceptance, Engine, NewEvent, Unavailable } from "../../../receiver/engine.ts";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";
import { newDatabase } from "../../helpers/postgres/shared.ts";
import { handler, newEvents, outcomeOf, record } from "../engine-suite/harness.ts";
import { until } from "../helpers/until.ts";
import { EFFECTS } from "./opened.ts";

/** How many rows of a kind go well before the one that fails; every one up to here in turn. */
const DEPTH = Number(process.env["POSTGRES_FAULTS"] ?? 1);

/** What PostgreSQL fails with, and what intake says of it; nothing where trying again is enough. */
const ERRORS: Record<string, Unavailable | undefined> = {
  "08000": "connection_lost",
  "08003": "connection_lost",
  "08006": "connection_lost",
  "25006": "read_only",
  "40001": undefined,
  "40P01": undefined,
  "53000": "overloaded",
  "53100": "full",
  "53200": "overloaded",
  "53300": "overloaded",
  "53400": "overloaded",
  "55P03": "busy",
  "57014": "timeout",
  "57P01": "outcome_unknown",
  "57P02": "outcome_unknown",
  "57P03": "connection_lost",
  "58030": "io_error",
  XX000: "corrupt",
  XX001: "corrupt",
};

/** The steps of an event's life, by the change of its row or its job's. */
const STEPS = {
  accept: "INSERT ON receiver.events",
  claim: "UPDATE ON receiver_boss.job_common",
  settle: "UPDATE ON receiver_boss.job_common",
  prune: "DELETE ON receiver.events",
};
const OF_STEP = {
  accept: "true",
  claim: "NEW.state = 'active'",
  settle: "OLD.state = 'active' AND NEW.state <> 'active'",
  prune: "true",
};

type Step = keyof typeof STEPS;

/** Fails once a step, when its row comes or when it is to be committed. Sequences count what is rolled back, too. */
const PLANT = `
  CREATE TABLE public.faults (error text, moment text, place integer);
  INSERT INTO public.faults VALUES (NULL, NULL, 0);
  CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE planted public.faults;
    BEGIN
      SELECT * INTO planted FROM public.faults;
      IF planted.moment = TG_ARGV[1] AND nextval(TG_ARGV[0]) = planted.place THEN
        RAISE EXCEPTION 'planted' USING ERRCODE = planted.error;
      END IF;
      RETURN coalesce(NEW, OLD);
    END $$;
  ${eachStep(
    (step) => `
    CREATE SEQUENCE public.faults_${step};
    CREATE TRIGGER ${step}_row BEFORE ${STEPS[step]} FOR EACH ROW WHEN (${OF_STEP[step]})
      EXECUTE FUNCTION public.fail('public.faults_${step}', 'row');
    CREATE CONSTRAINT TRIGGER ${step}_commit AFTER ${STEPS[step]}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (${OF_STEP[step]})
      EXECUTE FUNCTION public.fail('public.faults_${step}', 'commit');`,
  )}`;

function eachStep(sql: (step: Step) => string, between = ""): string {
  return (["accept", "claim", "settle", "prune"] as const).map(sql).join(between);
}

/** Pauses after trouble are short, so that a hundred troubles are quick. */
const hasty: Clock = {
  ...systemClock,
  sleep: async (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal),
};

const cases = Object.entries(ERRORS).flatMap(([error, reason], index) => {
  const moments = DEPTH > 1 ? ["row", "commit"] : [index % 2 === 0 ? "row" : "commit"];
  return moments.flatMap((moment) =>
    Array.from({ length: DEPTH }, (_, n) => ({ error, reason, moment, place: n + 1 })),
  );
});

describe("an error at each step of an event's life loses nothing and does nothing twice", () => {
  let client: Client;
  let engine: Engine;
  const begun: string[] = [];
  const reported: string[] = [];
  beforeAll(async () => {
    const { url, drop } = await newDatabase();
    engine = await openPostgresEngine({
      databaseUrl: url,
      clock: hasty,
      times: { lookMs: 20 },
    });
    client = new Client({ connectionString: url });
    await client.connect();
    await client.query(PLANT);
    const processor = await engine.work.process({
      handlers: [handler({ migrations: [EFFECTS], maximumAttempts: 10, backoffMs: () => 5 })],
      workerId: "worker",
      concurrency: 4,
      handle: async (claim) => {
        if (claim.type === "writes") return outcomeOf(record(claim));
        begun.push(claim.id);
        return { kind: "done" };
      },
      onHandled: ({ id, outcome }) => void (outcome === "done" && reported.push(id)),
      onTrouble: () => undefined,
    });
    return async () => {
      await processor.drain(0);
      await engine.close();
      await client.end();
      await drop();
    };
  });

  test.each(cases)("$error at $moment $place", async ({ error, reason, moment, place }) => {
    await client.query(`
      UPDATE faults SET error = '${error}', moment = '${moment}', place = ${String(place)};
      ${eachStep((step) => `ALTER SEQUENCE faults_${step} RESTART;`)}`);
    const writing = newEvents(2, { type: "writes" });
    const others = newEvents(2);
    const events = [...writing, ...others];
    expect(await acceptAll(engine, events)).toEqual({
      refusals: reason === undefined ? [] : [reason],
      // None of a refused batch was stored: all of them are new.
      acceptances: events.map(() => ({ duplicate: false })),
    });

    const found = await until(
      async () => Promise.all(events.map(async ({ id }) => engine.ledger.find(id))),
      (all) => all.every((event) => event?.state === "done"),
    );
    expect(found.map((event) => event?.handled)).toEqual([1, 1, 1, 1]);
    const effects = await client.query<{ event_id: string }>(
      "DELETE FROM receiver_handlers.effects RETURNING event_id",
    );
    expect(effects.rows.map(({ event_id }) => event_id).toSorted()).toEqual(idsOf(writing));

    // Nor is anything handled again only because its end could not be written down at once, or reported that isn't so.
    expect(begun.splice(0).toSorted()).toEqual(idsOf(others));
    await until(
      () => reported.length,
      (length) => length >= events.length,
    );
    expect(reported.splice(0).toSorted()).toEqual(idsOf(events));

    const older = { bodiesOlderThanMs: -1_000, idsOlderThanMs: 1_000_000_000 };
    const prunings: boolean[] = [];
    await until(
      async () => prunings.push(await engine.ledger.prune(older).then(Boolean, () => false)),
      () => prunings.includes(true),
    );
    expect(await engine.ledger.find(events[0]!.id)).toMatchObject({ state: "pruned", handled: 1 });
    expect(await engine.intake.accept(events)).toMatchObject({
      acceptances: events.map(() => ({ duplicate: true })),
    });
    // The control: each of the steps has failed.
    const { rows } = await client.query(
      eachStep(
        (step) => `SELECT FROM faults_${step} WHERE is_called AND last_value > ${String(place)}`,
        " UNION ALL ",
      ),
    );
    expect(rows).toHaveLength(4);
  });
});

function idsOf(events: readonly NewEvent[]): string[] {
  return events.map(({ id }) => id).toSorted();
}

/** As the service does it: again, until they are taken. Answers what was said before that. */
async function acceptAll(
  engine: Engine,
  events: readonly NewEvent[],
): Promise<{ refusals: Unavailable[]; acceptances: Acceptance[] }> {
  const refusals: Unavailable[] = [];
  for (;;) {
    const result = await engine.intake.accept(events);
    if (result.ok) return { refusals, acceptances: result.acceptances };
    refusals.push(result.reason);
  }
}

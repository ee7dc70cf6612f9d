import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../receiver/clock.ts";
import type { InboxJob } from "../../../receiver/engine.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import {
  defineHandler,
  PermanentFailure,
  RetryAfter,
  type HandlerContext,
} from "../../../receiver/work/handler.ts";
import { startLoop } from "../../../receiver/work/loop.ts";
import { idOf, newBody } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";
import { accept, newEvent, setUp, type CreateBackend } from "./harness.ts";

type Behave = (context: HandlerContext, write: Write) => unknown;
/** Writes one row within the job's transaction, with this beside it. */
type Write = (value?: unknown) => Promise<unknown>;

/** What becomes of a job, the same on every engine. */
type Fate = Pick<InboxJob, "state" | "attempts" | "deferred"> & { error: RegExp | null; rows: number };
const done = (rows = 0): Fate => ({ state: "done", attempts: 1, deferred: false, error: null, rows });
const failed = (error: RegExp): Fate => ({ state: "pending", attempts: 1, deferred: false, error, rows: 0 });
const dead = (error: RegExp): Fate => ({ ...failed(error), state: "dead" });
const later = (error: RegExp): Fate => ({ ...failed(error), attempts: 0, deferred: true });

const ignored = (): undefined => undefined;
const inTransaction =
  (work: (db: Parameters<Parameters<HandlerContext["atomically"]>[0]>[0]) => Promise<unknown>): Behave =>
  async ({ atomically }) =>
    atomically(work);
const given = (value: unknown): Behave =>
  inTransaction(async (db) => db.query("INSERT INTO outcomes VALUES ('x', $1)", [value as string]));
const aborted = async (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** How handlers end, by what each of them does; the first half is documented in docs/handlers.md. */
const OUTCOMES: Record<string, [Behave, Fate]> = {
  returns: [ignored, done()],
  writes: [async (_, write) => write(), done(1)],
  throws: [() => Promise.reject(new Error("down")), failed(/^Error: down$/)],
  "gives up": [() => Promise.reject(new PermanentFailure("no")), dead(/^PermanentFailure: no$/)],
  "asks for later": [
    () => Promise.reject(new RetryAfter(60)),
    later(/^RetryAfter: Asked to come back in 60 s\.$/),
  ],
  "is late": [
    async ({ signal }) => aborted(signal),
    failed(/^DeadlinePassed: The handler did not finish within 0\.2 s/),
  ],
  "is late in its transaction": [
    async ({ atomically, signal }) =>
      atomically(async (db) => {
        await db.query("INSERT INTO outcomes VALUES ('x', NULL)");
        await aborted(signal);
      }),
    failed(/^DeadlinePassed: The handler did not finish within 0\.2 s/),
  ],
  "returns while its transaction runs": [
    ({ atomically, signal }) => void atomically(async () => aborted(signal)).catch(ignored),
    failed(/^NotAwaited: .*await it\.$/),
  ],
  "throws once it has written": [
    async (_, write) => {
      await write();
      throw new Error("too late");
    },
    done(1),
  ],
  "throws in its transaction": [
    inTransaction(async (db) => {
      await db.query("INSERT INTO outcomes VALUES ('x', NULL)");
      throw new Error("down");
    }),
    failed(/^Error: down$/),
  ],
  "gives up in its transaction": [
    inTransaction(async () => Promise.reject(new PermanentFailure("no"))),
    dead(/^PermanentFailure: no$/),
  ],
  "asks for later in its transaction": [
    inTransaction(async () => Promise.reject(new RetryAfter(60))),
    later(/^RetryAfter: Asked/),
  ],
  "goes on after its transaction failed": [
    async ({ atomically }) => atomically(async () => Promise.reject(new Error("down"))).catch(ignored),
    done(),
  ],
  "begins two transactions": [
    async (_, write) => {
      await write();
      await write();
    },
    done(1),
  ],
  "catches a statement's error": [
    inTransaction(async (db) => {
      await db.query("INSERT INTO outcomes VALUES ('x', NULL)");
      await db.query("INSERT INTO no_such_table VALUES (1)").catch(ignored);
    }),
    failed(/no_such_table/),
  ],
  "catches it, and goes on": [
    inTransaction(async (db) => {
      await db.query("INSERT INTO no_such_table VALUES (1)").catch(ignored);
      await db.query("INSERT INTO outcomes VALUES ('x', NULL)");
    }),
    failed(/no_such_table/),
  ],
  "catches it, and gives up": [
    inTransaction(async (db) => {
      await db.query("INSERT INTO no_such_table VALUES (1)").catch(ignored);
      throw new PermanentFailure("no");
    }),
    dead(/^PermanentFailure: no$/),
  ],
  "does not await a statement that fails": [
    inTransaction(async (db) => void db.query("INSERT INTO no_such_table VALUES (1)").catch(ignored)),
    failed(/no_such_table/),
  ],
  "commits by itself": [
    inTransaction(async (db) => {
      await db.query("INSERT INTO outcomes VALUES ('x', NULL)");
      await db.query("COMMIT").catch(ignored);
    }),
    failed(/^Error: COMMIT inside atomically\(\): it begins and ends the transaction itself/),
  ],
  "rolls back by itself": [
    inTransaction(async (db) => db.query("/* not so */ rollback")),
    failed(/^Error: ROLLBACK inside atomically\(\)/),
  ],
  "sets a point to go back to": [
    inTransaction(async (db) => db.query("SAVEPOINT here")),
    failed(/^Error: SAVEPOINT inside atomically\(\)/),
  ],
  "writes two statements as one": [
    inTransaction(async (db) =>
      db.query("INSERT INTO outcomes VALUES ('x', NULL); INSERT INTO outcomes VALUES ('x', NULL)"),
    ),
    failed(/more than one statement|multiple commands/),
  ],
  "writes a text": [async (_, write) => write("text"), done(1)],
  "writes a number": [async (_, write) => write(1.5), done(1)],
  "writes a bigint": [async (_, write) => write(2n), done(1)],
  "writes null": [async (_, write) => write(null), done(1)],
  "writes a Date": [given(new Date(0)), failed(/^TypeError: The value for \$1 is a Date\./)],
  "writes an object": [given({}), failed(/^TypeError: The value for \$1 is of type object\./)],
  "writes an array": [given([1]), failed(/^TypeError: The value for \$1 is an array\./)],
  "writes true": [given(true), failed(/^TypeError: The value for \$1 is of type boolean\./)],
  "writes undefined": [given(undefined), failed(/^TypeError: The value for \$1 is of type undefined\./)],
};

/** A name that handlers may have. */
const nameOf = (behaviour: string): string => behaviour.replaceAll(/\W+/g, "-");

const HANDLERS = Object.entries(OUTCOMES).map(([behaviour, [behave]], index) =>
  defineHandler({
    name: nameOf(behaviour),
    type: "*",
    object: z.unknown(),
    timeoutSeconds: behaviour.startsWith("is late") ? 0.2 : 60,
    backoff: () => 3_600,
    migrations: index === 0 ? ["CREATE TABLE outcomes (name TEXT, value TEXT)"] : [],
    handle: async (_event, context) =>
      behave(context, async (value = "x") =>
        context.atomically(async (db) =>
          // Of every kind of value, what it is as a text.
          db.query("INSERT INTO outcomes VALUES ($1, CAST($2 AS TEXT))", [
            nameOf(behaviour),
            value as string,
          ]),
        ),
      ),
  }),
);

export function describeOutcomes(name: string, createBackend: CreateBackend): void {
  describe(`${name}: how a handler ends`, () => {
    test("is its job's fate by one table, the same on every engine", async () => {
      const { engine, rows } = await setUp(createBackend);
      let ended = 0;
      const loop = await startLoop({
        engine,
        handlers: HANDLERS,
        defaults: {
          maximumAttempts: 10,
          handlerTimeoutMs: 60_000,
          workerConcurrency: 50,
          maximumAgeMs: 259_200_000,
        },
        clock: systemClock,
        log: createLog({ level: "silent", destination: { write: ignored } }),
        onHandled: () => void (ended += 1),
        onStuck: ignored,
      });
      onTestFinished(async () => loop.drain(0));
      const body = newBody();
      await accept(engine, [newEvent({ id: idOf(body), body })]);
      await until(
        () => ended,
        (count) => count >= HANDLERS.length,
      );
      const { jobs } = (await engine.ledger.find(idOf(body)))!;
      const written = (await rows("SELECT name FROM outcomes")).map((row) => row["name"]);
      for (const [behaviour, [, { error, rows: expected, ...fate }]] of Object.entries(OUTCOMES)) {
        const job = jobs.find(({ handler }) => handler === nameOf(behaviour));
        const found = written.filter((one) => one === nameOf(behaviour)).length;
        expect({ behaviour, ...job, rows: found }).toMatchObject({
          ...fate,
          behaviour,
          rows: expected,
          lastError: error && expect.stringMatching(error),
        });
      }
      // What was rolled back has left nothing under another name either.
      expect(written).not.toContain("x");
    });
  });
}

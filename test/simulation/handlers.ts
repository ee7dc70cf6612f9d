import { z } from "zod";
import { EVENT_TYPES } from "../../shared/events.ts";
import type { Clock } from "../../receiver/clock.ts";
import { defineHandler, PermanentFailure, RetryAfter, type Handler } from "../../receiver/work/handler.ts";
import { createRandom } from "../../simulator/domain/random.ts";

const CREATE_EFFECTS = "CREATE TABLE IF NOT EXISTS effects (event_id TEXT, type TEXT, object_id TEXT)";
const INSERT_EFFECT = "INSERT INTO effects (event_id, type, object_id) VALUES ($1, $2, $3)";

/** The type that nobody handles, so that `ignored` events come up. */
/** What the names of the handlers with effects begin with: one for each type. */
export const EFFECTS = "effects-of-";

export const UNHANDLED = "booking.created";

/**
 * Handlers as people write them, good and bad: each attempt does what the seed says. Once `healed`, each writes its
 * effect and is done.
 */
export function createHandlers(options: {
  seed: number;
  clock: () => Clock;
  healed: () => boolean;
  onBegin: (handler: string, id: string, attempt: number) => void;
}): Handler[] {
  const handled = EVENT_TYPES.filter((type) => type !== UNHANDLED);
  const effects = handled.map((type) =>
    defineHandler<string, { id: string }>({
      name: `${EFFECTS}${type}`,
      type,
      object: z.looseObject({ id: z.string() }),
      migrations: [CREATE_EFFECTS],
      handle: async (event, context) => {
        options.onBegin(`${EFFECTS}${type}`, event.id, context.attempt);
        const { attempt, signal, atomically } = context;
        const random = createRandom(options.seed, "handler", event.id, attempt);
        const { sleep } = options.clock();
        const write = async (): Promise<void> =>
          atomically(async (db) => {
            await db.query(INSERT_EFFECT, [event.id, type, event.data.object.id]);
          });
        const behaviour = options.healed()
          ? "writes"
          : random.weighted([
              ["writes", 50],
              ["slowly", 24],
              ["throws", 10],
              ["gives up", 4],
              ["comes back", 4],
              ["hangs", 3],
              ["hangs deaf", 3],
              ["throws in its transaction", 6],
              ["forgets", 3],
              ["dawdles in its transaction", 3],
            ]);
        if (behaviour === "writes") await write();
        else if (behaviour === "slowly") {
          await sleep(random.int(100, 4_900), signal);
          await write();
        } else if (behaviour === "throws") throw new Error("a service said no");
        else if (behaviour === "gives up") throw new PermanentFailure("hopeless");
        else if (behaviour === "comes back") throw new RetryAfter(random.int(0, 90) + 0.25);
        else if (behaviour === "hangs") await sleep(60_000, signal);
        else if (behaviour === "hangs deaf") {
          await sleep(9_000);
          // Too late, and it does not know.
          await write().catch(() => undefined);
        } else if (behaviour === "forgets") void write().catch(() => undefined);
        else
          await atomically(async (db) => {
            await db.query(INSERT_EFFECT, [event.id, type, event.data.object.id]);
            if (behaviour === "throws in its transaction") throw new Error("changed its mind");
            await sleep(random.int(100, 7_000));
            await db.query("SELECT 1");
          });
      },
    }),
  ); /** Beside them one in order, with limits, that fails now and then and has no effect. */
  const second = defineHandler<string, { id: string }>({
    name: "second",
    type: handled,
    object: z.looseObject({ id: z.string() }),
    key: ({ type }) => type,
    concurrency: 2,
    rateLimit: { limit: 5, perSeconds: 2 },
    handle: async (event, { attempt, signal }) => {
      options.onBegin("second", event.id, attempt);
      const random = createRandom(options.seed, "second", event.id, attempt);
      if (options.healed()) return;
      await options.clock().sleep(random.int(0, 900), signal);
      if (random.chance(0.1)) throw new Error("a service said no");
      if (random.chance(0.05)) throw new PermanentFailure("hopeless");
    },
  });
  return [...effects, second];
}

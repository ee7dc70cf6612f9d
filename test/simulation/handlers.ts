import type { Clock } from "../../receiver/clock.ts";
import { defineHandler, PermanentFailure, RetryAfter, type Handler } from "../../receiver/work/handler.ts";
import { EVENT_TYPES } from "../../shared/events.ts";
import { createRandom } from "../../simulator/domain/random.ts";

const CREATE_EFFECTS = "CREATE TABLE IF NOT EXISTS effects (event_id TEXT)";
const INSERT_EFFECT = "INSERT INTO effects (event_id) VALUES ($1)";

/** The name of the handler that writes an effect. */
export const EFFECTS = "effects";
/** The name of the handler that handles the events of an organization one at a time, without an effect. */
export const IN_ORDER = "in-order";
/** The type that no handler wants. */
export const UNHANDLED = "booking.created";

/** Good and bad handlers: the seed decides what each attempt does. Once `healed`, each attempt succeeds. */
export function createHandlers(options: {
  seed: number;
  clock: Clock;
  isHealed: () => boolean;
  /** Called at the beginning of an attempt; what it returns is called at its end. */
  onBegin: (handler: string, id: string, attempt: number) => () => void;
}): Handler[] {
  const { seed, clock } = options;
  const handled = EVENT_TYPES.filter((type) => type !== UNHANDLED);

  const effects = defineHandler({
    name: EFFECTS,
    type: handled,
    migrations: [CREATE_EFFECTS],
    handle: async ({ id }, { attempt, signal, atomically }) => {
      const random = createRandom(seed, EFFECTS, id, attempt);
      const write = async (more?: () => unknown): Promise<void> =>
        atomically(async (db) => {
          await db.query(INSERT_EFFECT, [id]);
          await more?.();
        });
      const behaviours: Record<string, [weight: number, () => unknown]> = {
        writes: [50, async () => write()],
        "writes late": [
          20,
          async () => {
            await clock.sleep(random.int(100, 4_900), signal);
            await write();
          },
        ],
        throws: [10, () => Promise.reject(new Error("a service said no"))],
        "gives up": [4, () => Promise.reject(new PermanentFailure("hopeless"))],
        "comes back": [4, () => Promise.reject(new RetryAfter(random.int(0, 90) + 0.25))],
        hangs: [
          3,
          async () => {
            await clock.sleep(60_000, signal);
            signal.throwIfAborted();
          },
        ],
        "hangs deaf": [
          3,
          async () => {
            await clock.sleep(12_000);
            await write();
          },
        ],
        "throws in its transaction": [
          4,
          async () => write(() => Promise.reject(new Error("changed its mind"))),
        ],
        "waits in its transaction": [4, async () => write(async () => clock.sleep(300))],
      };
      const weights = Object.values(behaviours).map(([weight, behave]) => [behave, weight] as const);
      const behave = options.isHealed() ? async () => write() : random.weighted(weights);
      const end = options.onBegin(EFFECTS, id, attempt);
      try {
        await behave();
      } finally {
        end();
      }
    },
  });

  const inOrder = defineHandler({
    name: IN_ORDER,
    type: handled,
    key: "org_id",
    rateLimit: { limit: 5, perSeconds: 2 },
    handle: async ({ id }, { attempt, signal }) => {
      const random = createRandom(seed, IN_ORDER, id, attempt);
      const end = options.onBegin(IN_ORDER, id, attempt);
      try {
        if (options.isHealed()) return;
        await clock.sleep(random.int(0, 900), signal);
        if (random.chance(0.1)) throw new Error("a service said no");
        if (random.chance(0.05)) throw new PermanentFailure("hopeless");
      } finally {
        end();
      }
    },
  });
  return [effects, inOrder];
}

import { createHash } from "node:crypto";
import { z } from "zod";
import { callSchema, organizationSchema, voicemailSchema } from "../../shared/resources.ts";
import type { EventType } from "../../shared/events.ts";
import type { Clock } from "../../receiver/clock.ts";
import { RestError, type RestClient } from "../../receiver/operations/rest-client.ts";
import type { Random } from "../../simulator/domain/random.ts";
import type { Simulator } from "../../simulator/verbs/simulator.ts";
import type { WorldPage } from "../../simulator/domain/world/world.ts";

const itemSchema = z.discriminatedUnion("object", [callSchema, voicemailSchema]);
type Item = z.infer<typeof itemSchema>;

const LARGEST_PAGE = 7;
const SLOWEST_PAGE_MS = 400;

/**
 * The REST API of the simulated service, over a network on which a request fails once in a while. Pages are small, so
 * that a walk has many moments at which it can break off, and the world goes on between two of them.
 */
export function createRestApi(options: {
  simulator: Simulator;
  organizationId: string;
  clock: Clock;
  random: Random;
  isFaulty: () => boolean;
  /** Hears of each event that can be made of what was shown. */
  onShown: (key: string, type: EventType) => void;
}): RestClient {
  const { simulator, organizationId, clock, random } = options;
  const { world } = simulator;

  const request = async (): Promise<void> => {
    await clock.sleep(random.int(0, SLOWEST_PAGE_MS));
    if (options.isFaulty() && random.chance(0.1))
      throw new RestError({ code: "network", message: "no answer from the service" });
  };

  async function* walk(
    page: (query: { limit: number; startingAfter: string | undefined }) => WorldPage,
    from: string | undefined,
  ): AsyncGenerator<Item> {
    for (let startingAfter = from; ;) {
      await request();
      const result = page({ limit: random.int(1, LARGEST_PAGE), startingAfter });
      if (!result.ok) throw new RestError({ status: 400, code: result.reason, message: "no such item" });
      const items = result.data.map((item) => itemSchema.parse(item));
      for (const { key, type } of items.flatMap(eventsOf)) options.onShown(key, type);
      yield* items;
      startingAfter = items.at(-1)?.id;
      if (!result.hasMore || startingAfter === undefined) return;
    }
  }

  return {
    me: async () => {
      await request();
      return organizationSchema.parse(world.findOrganization(organizationId));
    },
    agents: async () => [],
    calls: async function* ({ startingAfter } = {}) {
      const page: Parameters<typeof walk>[0] = (query) => world.calls(organizationId, query);
      for await (const item of walk(page, startingAfter)) if (item.object === "call") yield item;
    },
    voicemails: async function* ({ startingAfter } = {}) {
      const page: Parameters<typeof walk>[0] = (query) => world.voicemails(organizationId, query);
      for await (const item of walk(page, startingAfter)) if (item.object === "voicemail") yield item;
    },
    clockSkewMs: async () => undefined,
    close: async () => undefined,
  };
}

/** What the world holds that `reconcile` can bring back. */
export function healable(simulator: Simulator, organizationId: string): Healable[] {
  const all = { limit: 1_000_000 };
  const calls = simulator.world.calls(organizationId, all);
  const voicemails = simulator.world.voicemails(organizationId, all);
  const items = [...(calls.ok ? calls.data : []), ...(voicemails.ok ? voicemails.data : [])];
  return items.flatMap((item) => eventsOf(itemSchema.parse(item)));
}

/** With `key`, that of the event that `reconcile` makes of it. */
type Healable = { type: EventType; objectId: string; createdAtMs: number; key: string };

function eventsOf(item: Item): Healable[] {
  const { id: objectId, created_at: createdAt } = item;
  const types: EventType[] = item.object === "call" ? ["call.completed"] : ["voicemail.created"];
  if (item.object === "call" && item.transferred) types.push("call.transferred");
  return types.map((type) => ({
    type,
    objectId,
    createdAtMs: Date.parse(createdAt),
    key: createHash("sha256").update(`reconcile ${type} ${objectId}`).digest("hex").slice(0, 32),
  }));
}

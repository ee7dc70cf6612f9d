import Database from "better-sqlite3";
import { isEventType } from "../../../shared/events.ts";
import { DEFAULT_READINGS, type Readings } from "../../../simulator/domain/readings.ts";
import type { HappenOptions } from "../../../simulator/domain/world/happenings.ts";
import { WORLD_TABLES } from "../../../simulator/domain/world/schema.ts";
import { createWorld } from "../../../simulator/domain/world/world.ts";

export const RESTAURANT = "org_5f2c81d0a7b94e63";
export const SERVICES = "org_c4071e6b92fd4a58";
export const NOW_MS = Date.UTC(2026, 5, 5, 18, 30);

/** A world in memory whose clock stands still until `now.ms` is set. */
export function createTestWorld(
  options: {
    seed?: number;
    calls?: number;
    readings?: Partial<Readings>;
    database?: Database.Database;
    epochMs?: number;
  } = {},
) {
  const database = options.database ?? openTestDatabase();
  const now = { ms: NOW_MS };
  const readings = { ...DEFAULT_READINGS, ...options.readings };
  const world = createWorld({
    database,
    seed: options.seed ?? 1,
    calls: options.calls ?? 240,
    epochMs: options.epochMs ?? Date.UTC(2026, 5, 5),
    readings: () => readings,
    nowMs: () => now.ms,
    baseUrl: () => "http://localhost:4010",
  });
  return { world, now, database, readings };
}

export type TestWorld = ReturnType<typeof createTestWorld>["world"];

export function openTestDatabase(): Database.Database {
  const database = new Database(":memory:");
  database.exec(WORLD_TABLES);
  return database;
}

/** Every call of an organization, page by page. */
export function walkCalls(world: TestWorld, orgId: string, query: { limit?: number; outcome?: string } = {}) {
  const all: Record<string, unknown>[] = [];
  let startingAfter: string | undefined;
  for (;;) {
    const page = world.calls(orgId, { limit: 100, ...query, startingAfter });
    if (!page.ok) throw new Error(page.reason);
    all.push(...page.data);
    if (!page.hasMore) return all;
    startingAfter = String(page.data.at(-1)?.["id"]);
  }
}

export function walkVoicemails(world: TestWorld, orgId: string, reviewed?: boolean) {
  const all: Record<string, unknown>[] = [];
  let startingAfter: string | undefined;
  for (;;) {
    const page = world.voicemails(orgId, {
      limit: 100,
      startingAfter,
      ...(reviewed !== undefined && { reviewed }),
    });
    if (!page.ok) throw new Error(page.reason);
    all.push(...page.data);
    if (!page.hasMore) return all;
    startingAfter = String(page.data.at(-1)?.["id"]);
  }
}

/** Makes an event happen. */
export function happen(world: TestWorld, type: string, options?: HappenOptions) {
  if (!isEventType(type)) throw new Error(type);
  const happened = world.happen(type, options);
  if (!happened.ok) throw new Error(happened.message);
  return happened;
}

import type { Database } from "better-sqlite3";
import { z } from "zod";
import type { Agent, Organization } from "../../../shared/events.ts";
import type { Readings } from "../readings.ts";
import { type Happened, createHappen } from "./happenings.ts";
import { createHistory, historyStart, type Origin } from "./history.ts";
import { type Item, type ItemKind, createItems, isA } from "./items.ts";
import { type WorldObject, withTransferForms } from "./objects.ts";
import { type Business, createBusinesses } from "./organizations.ts";
import { type Scenario, type PlannedSteps, planSteps } from "./scenario.ts";
import { type PageQuery, createTimeline } from "./timeline.ts";

export type WorldPage =
  | { ok: true; data: WorldObject[]; hasMore: boolean }
  | { ok: false; reason: "invalid_cursor" };

type PageOptions = { limit: number; startingAfter?: string | undefined };

const GET = `SELECT seed, calls, epoch FROM world`;
const SET = `INSERT INTO world (one, seed, calls, epoch, happenings) VALUES (1, ?, ?, ?, 0)`;
const NEXT_HAPPENING = `UPDATE world SET happenings = happenings + 1 RETURNING happenings`;

export type World = ReturnType<typeof createWorld>;

/** The data of the service. A database that holds a world keeps its own `seed`, `calls` and `epochMs`. */
export function createWorld(options: {
  database: Database;
  seed: number;
  calls: number;
  /** Where the generated history ends; everything in it depends on this and the seed. */
  epochMs: number;
  readings: () => Readings;
  nowMs: () => number;
  /** Where recordings are served, without a slash at the end. */
  baseUrl: () => string;
}) {
  const { database, readings, baseUrl } = options;
  const items = createItems(database);
  const origin = settledOrigin(database, {
    seed: options.seed,
    calls: options.calls,
    epoch: Math.floor(options.epochMs / 1000),
  });
  const happened = database.prepare<[], number>(NEXT_HAPPENING).pluck();
  /** Counts from 1, across restarts and resets, so that no id is used twice. */
  const nextHappening = (): number => happened.get() ?? 1;
  const { seed } = origin;
  const businesses = createBusinesses({ seed, historyStart: historyStart(origin) });
  const history = createHistory({ origin, businesses, baseUrl });
  const timeline = createTimeline({ history, items });
  const happen = createHappen({ ...options, seed, businesses, items, timeline, nextHappening, show });

  function show(item: Item): WorldObject {
    if (item.object !== null) return storedSchema.parse(JSON.parse(item.object));
    const object = history.show(item);
    return isA("call", item) ? withTransferForms(object, readings()) : object;
  }

  function businessOf(orgId: string): Business | undefined {
    return businesses.find(({ organization }) => organization.id === orgId);
  }

  function page(orgId: string, kind: ItemKind, query: PageQuery): WorldPage {
    const business = businessOf(orgId);
    if (business === undefined) return { ok: true, data: [], hasMore: false };
    const result = timeline.page(business.number, kind, query);
    return result.ok ? { ok: true, data: result.items.map(show), hasMore: result.hasMore } : result;
  }

  function find(kind: ItemKind, id: string): { orgId: string; object: WorldObject } | undefined {
    const item = timeline.find(id);
    const orgId = item && businesses[item.organization]?.organization.id;
    return item && isA(kind, item) && orgId !== undefined ? { orgId, object: show(item) } : undefined;
  }

  return {
    origin: { ...origin, epochMs: origin.epoch * 1000 },
    /** A version of the lists: with the same version, origin and readings, each list is the same. */
    version: () => [items.changes(), baseUrl()],
    businesses,
    organizations: (): { organization: Organization; apiKey: string }[] =>
      businesses.map(({ organization, apiKey }) => ({ organization, apiKey })),
    findOrganization: (id: string): Organization | undefined => businessOf(id)?.organization,
    /** For each key there is another without scopes, which ends in `_no_scope`. */
    organizationOfKey(apiKey: string): Organization | undefined {
      const known = businesses.find((business) => business.apiKey === apiKey.replace(NO_SCOPE, ""));
      if (known === undefined) return undefined;
      return NO_SCOPE.test(apiKey) ? { ...known.organization, api_scopes: [] } : known.organization;
    },
    agents: (orgId: string): Agent[] => [...(businessOf(orgId)?.agents ?? [])],
    /** Calls of one organization, newest first (SPEC §4 GET /api/v1/calls). */
    calls: (orgId: string, query: PageOptions & { outcome?: string | undefined }): WorldPage =>
      page(orgId, "call", { ...query, facet: query.outcome }),
    /** Voicemails of one organization, newest first (SPEC §4 GET /api/v1/voicemails). */
    voicemails: (orgId: string, query: PageOptions & { reviewed?: boolean | undefined }): WorldPage =>
      page(orgId, "voicemail", { ...query, facet: query.reviewed?.toString() }),
    findCall: (id: string) => find("call", id),
    findVoicemail: (id: string) => find("voicemail", id),
    /** Changes the world and returns the object of the event; REST returns the same object. */
    happen,
    planSteps: (scenario: Scenario): PlannedSteps =>
      planSteps({ scenario, businesses, seed, number: nextHappening() }),
    /** Keeps the objects of a happening as long as its event (retention). */
    tie(happening: Happened, eventId: string): void {
      for (const id of happening.itemIds) items.tie(id, eventId);
    },
    /** Resets the world to its history. Later objects get new ids. */
    reset: (): void => items.clear(),
  };
}

/** The stored origin, or `fresh`, which is then stored. */
function settledOrigin(database: Database, fresh: Origin): Origin {
  const known = database.prepare<[], Origin>(GET).get();
  if (known !== undefined) return known;
  database.prepare(SET).run(fresh.seed, fresh.calls, fresh.epoch);
  return fresh;
}

const NO_SCOPE = /_no_scope$/;

const storedSchema = z.looseObject({ object: z.string() });

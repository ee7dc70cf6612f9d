import type { Database } from "better-sqlite3";
import { z } from "zod";
import { FAILURE_FLAG_THRESHOLD } from "./limits.ts";
import type { ScheduleClock } from "./clock.ts";
import { checkEndpointUrl, type EndpointUrl } from "./endpoint-url.ts";
import { formatFault, parseFault, type Fault } from "./faults.ts";
import type { Journal } from "./journal.ts";
import { stableId } from "./random.ts";
import { endpointSchema } from "./shapes.ts";
import { columnsOf, type Kept } from "./spelling.ts";
import { type Refused, refused } from "./refused.ts";
import type { Readings } from "./readings.ts";

type SecretField = "secretLast4" | "previousSecretLast4" | "previousSecretUntilMs";
const DERIVED = ["flagged", "secret_last4", "previous_secret_last4", "previous_secret_until"];

/** An endpoint, with its secrets. */
export type Endpoint = Omit<Kept<typeof endpointSchema>, "faults" | SecretField> &
  EndpointSecrets & { faults: Fault[] };

export type EndpointSettings = {
  url: string;
  name?: string | undefined;
  orgId?: string | null | undefined;
  eventTypes?: string[] | undefined;
  secret?: string | undefined;
  faults?: Fault[] | undefined;
};

/** Settings to change; a setting that is undefined stays as it is. */
export type EndpointChanges = {
  [Name in keyof Omit<EndpointSettings, "secret">]?: EndpointSettings[Name] | undefined;
} & { paused?: boolean | undefined };

export type EndpointResult = { ok: true; endpoint: Endpoint } | Refused;

type EndpointRow = Omit<Endpoint, "paused" | "eventTypes" | "faults" | "previousSecret" | "flagged"> & {
  paused: number;
  eventTypes: string;
  faults: string;
  previous: string | null;
  previousUntilMs: number | null;
};

const COLUMNS = `
  ${columnsOf(endpointSchema, DERIVED)}, secret, previous_secret AS previous, previous_until AS previousUntilMs`;
const INSERT = `INSERT INTO endpoints (id, org_id, url, name, event_types, secret, faults, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const UPDATE = `UPDATE endpoints SET org_id = ?, url = ?, name = ?, paused = ?, event_types = ?, faults = ? WHERE id = ?`;
const ROTATE = `
  UPDATE endpoints SET previous_secret = secret, previous_until = ?, secret = ? WHERE id = ? AND deleted_at IS NULL`;
const DELETE = `UPDATE endpoints SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL`;
const FIND = `SELECT ${COLUMNS} FROM endpoints WHERE id = ? AND deleted_at IS NULL`;
const LIST = `SELECT ${COLUMNS} FROM endpoints WHERE deleted_at IS NULL ORDER BY seq`;
const COUNT_FAILURE = `
  UPDATE endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ? AND deleted_at IS NULL`;
const COUNT_SUCCESS = `
  UPDATE endpoints SET consecutive_failures = 0
  WHERE id = ? AND consecutive_failures > 0 AND deleted_at IS NULL`;
const EXISTS = `SELECT 1 FROM endpoints WHERE id = ? AND deleted_at IS NULL`;
// The table's counter, not its last row: ids continue after a reset, since receivers keep them.
const LAST_SEQ = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'endpoints'`;

const stringListSchema = z.array(z.string());
const NO_FAULTS = "[]";

export type Endpoints = ReturnType<typeof createEndpoints>;

/** The registered endpoints: their address, selection, secret, faults and failure flag. */
export function createEndpoints(options: {
  database: Database;
  seed: number;
  clock: ScheduleClock;
  journal: Journal;
  allowedHosts: readonly string[];
  newSecret: () => string;
}) {
  const { database, clock, journal, allowedHosts } = options;
  const insert = database.prepare(INSERT);
  const update = database.prepare(UPDATE);
  const rotate = database.prepare(ROTATE);
  const remove = database.prepare(DELETE);
  const find = database.prepare<[string], EndpointRow>(FIND);
  const list = database.prepare<[], EndpointRow>(LIST);
  const countFailure = database.prepare<[string]>(COUNT_FAILURE);
  const countSuccess = database.prepare<[string]>(COUNT_SUCCESS);
  const exists = database.prepare<[string], number>(EXISTS).pluck();
  const lastSeq = database.prepare<[], number>(LAST_SEQ).pluck();

  function problemOf({ url, secret }: Pick<EndpointSettings, "url" | "secret">): Refused | undefined {
    if (secret !== undefined && !/^\S+$/.test(secret))
      return refused("A signing secret has at least one character and no white space.");
    const checked = checkEndpointUrl(url, allowedHosts);
    return checked.ok ? undefined : checked;
  }

  function read(id: string): Endpoint | undefined {
    const row = find.get(id);
    return row && fromRow(row);
  }

  function written(id: string): EndpointResult {
    journal.write({ kind: "endpoint.changed", endpointId: id });
    const endpoint = read(id);
    if (endpoint === undefined) throw new Error(`The endpoint ${id} was written and is not there.`);
    return { ok: true, endpoint };
  }

  function publish(id: string, changes: number): boolean {
    if (changes > 0) journal.write({ kind: "endpoint.changed", endpointId: id });
    return changes > 0;
  }

  return {
    register(settings: EndpointSettings): EndpointResult {
      const problem = problemOf(settings);
      if (problem !== undefined) return problem;
      const index = (lastSeq.get() ?? 0) + 1;
      const id = stableId("ep_", 16, { seed: options.seed, purpose: "endpoint", index });
      const { orgId = null, eventTypes = [], secret = options.newSecret(), faults = [] } = settings;
      const { name = "" } = settings;
      const url = new URL(settings.url).href;
      insert.run(id, orgId, url, name, JSON.stringify(eventTypes), secret, faultList(faults), clock.now());
      return written(id);
    },
    /** Changes an endpoint that exists; its secrets stay. Pending deliveries go to the new address. */
    change(endpoint: Endpoint, changes: EndpointChanges): EndpointResult {
      const { url = endpoint.url, orgId = endpoint.orgId, eventTypes = endpoint.eventTypes } = changes;
      const { name = endpoint.name, paused = endpoint.paused, faults = endpoint.faults } = changes;
      const problem = problemOf({ url });
      if (problem !== undefined) return problem;
      const selection = JSON.stringify(eventTypes);
      update.run(orgId, new URL(url).href, name, Number(paused), selection, faultList(faults), endpoint.id);
      return written(endpoint.id);
    },
    /** Gives an endpoint a new secret; the old one keeps signing for `overlapMs` of schedule time. */
    rotate(endpoint: Endpoint, settings: { secret?: string | undefined; overlapMs: number }): EndpointResult {
      const { id, url, secret: previous } = endpoint;
      const secret = settings.secret ?? options.newSecret();
      if (secret === previous) return refused("The endpoint has this secret already: give another, or none.");
      const problem = problemOf({ url, secret });
      if (problem !== undefined) return problem;
      rotate.run(clock.now() + settings.overlapMs, secret, id);
      return written(id);
    },
    /** False if the endpoint does not exist. Its past deliveries stay visible. */
    remove(id: string): boolean {
      return publish(id, remove.run(clock.now(), id).changes);
    },
    checkUrl: (url: string): EndpointUrl => checkEndpointUrl(url, allowedHosts),
    find: read,
    list: (): Endpoint[] => list.all().map(fromRow),
    exists: (id: string): boolean => exists.get(id) === 1,
    countFailure: (id: string): boolean => publish(id, countFailure.run(id).changes),
    countSuccess: (id: string): void => void publish(id, countSuccess.run(id).changes),
  };
}

export function isSubscribed(endpoint: Endpoint, event: { type: string; orgId: string }): boolean {
  const isSelected = endpoint.eventTypes.length === 0 || endpoint.eventTypes.includes(event.type);
  return !endpoint.paused && isSelected && (endpoint.orgId === null || endpoint.orgId === event.orgId);
}

/** An endpoint without its secrets, of which only the last four characters are shown. */
export function shownEndpoint({
  secret,
  previousSecret: previous,
  ...endpoint
}: Endpoint): Kept<typeof endpointSchema> {
  return {
    ...endpoint,
    faults: endpoint.faults.map(formatFault),
    secretLast4: lastCharacters(secret),
    previousSecretLast4: previous && lastCharacters(previous.secret),
    previousSecretUntilMs: previous && previous.untilMs,
  };
}

/** The last four characters, which distinguish secrets; empty for a short one, since it would reveal too much. */
function lastCharacters(secret: string): string {
  return secret.length < 12 ? "" : secret.slice(-4);
}

function faultList(faults: readonly Fault[]): string {
  return JSON.stringify(faults.map(formatFault));
}

/** Reads the output of `faultList`, without names that this version does not know. */
export function readFaults(json: string): Fault[] {
  // The usual case, read with every attempt.
  if (json === NO_FAULTS) return [];
  return stringListSchema
    .parse(JSON.parse(json))
    .map(parseFault)
    .flatMap((parsed) => (parsed.ok ? [parsed.fault] : []));
}

function fromRow({ previous, previousUntilMs, ...row }: EndpointRow): Endpoint {
  return {
    ...row,
    paused: row.paused === 1,
    eventTypes: stringListSchema.parse(JSON.parse(row.eventTypes)),
    previousSecret: previous === null ? null : { secret: previous, untilMs: previousUntilMs ?? 0 },
    faults: readFaults(row.faults),
    flagged: row.consecutiveFailures >= FAILURE_FLAG_THRESHOLD,
  };
}

/** How long a rotated secret keeps signing beside the new one by default. */
export const OVERLAP_SECONDS = 86_400;

export type EndpointSecrets = { secret: string; previousSecret: { secret: string; untilMs: number } | null };

/** The secrets that sign at `nowMs` of schedule time: during an overlap, as the reading `rotated_secret_signs` says. */
export function signingSecrets(
  { secret, previousSecret }: EndpointSecrets,
  nowMs: number,
  { rotated_secret_signs: reading }: Readings,
): string[] {
  if (previousSecret === null || nowMs >= previousSecret.untilMs) return [secret];
  const { secret: previous } = previousSecret;
  return { both: [secret, previous], new: [secret], old: [previous] }[reading];
}

/** Every known secret that may have signed an earlier attempt. */
export function knownSecrets({ secret, previousSecret }: EndpointSecrets): string[] {
  return previousSecret === null ? [secret] : [secret, previousSecret.secret];
}

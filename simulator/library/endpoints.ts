import type { EventType } from "../../shared/events.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import { formatFault } from "../domain/faults.ts";
import { OVERLAP_SECONDS } from "../domain/signing-secrets.ts";
import type { Simulator } from "../simulator.ts";
import { faultsFrom, orThrow, secondsFrom, type FaultText } from "./input.ts";

export type EndpointRequest = {
  /** https, or http on loopback. */
  url: string;
  /** The selection; every event type unless given. */
  eventTypes?: readonly EventType[];
  /** Only events of this organization; of all unless given. */
  orgId?: string | null;
  /** Made up unless given. */
  secret?: string;
  /** What to do wrong to this endpoint. */
  faults?: readonly FaultText[];
};

export type Rotation = {
  /** The new secret; made up unless given. */
  secret?: string;
  /** How long the one before goes on signing, in schedule time: seconds, or a text such as `"12h"`; a day unless given. */
  overlap?: number | string;
};

export type EndpointRecord = {
  id: string;
  url: string;
  eventTypes: string[];
  orgId: string | null;
  /** What its deliveries are signed with. */
  secret: string;
  faults: string[];
  /** True at three or more failures in a row; a flagged endpoint is never disabled. */
  flagged: boolean;
  consecutiveFailures: number;
};

export type EndpointControl = {
  /** Registers an endpoint; throws with what to change when the service would refuse it. */
  add(endpoint: EndpointRequest): EndpointRecord;
  list(): EndpointRecord[];
  /** Throws when there is no such endpoint. */
  get(id: string): EndpointRecord;
  change(id: string, settings: Partial<Omit<EndpointRequest, "secret">>): EndpointRecord;
  /** Gives an endpoint a new secret, beside which the one before goes on signing for a while. */
  rotate(id: string, rotation?: Rotation): EndpointRecord;
  remove(id: string): void;
  /** The dashboard's test action: sends a synthetic `call.completed` to this endpoint alone. Answers its event id. */
  test(id: string): Promise<string>;
};

export function createEndpointControl({ endpoints, settled }: Simulator): EndpointControl {
  return {
    add: (request) =>
      record(orThrow(endpoints.register({ ...settingsOf(request), url: request.url })).endpoint),
    list: () => endpoints.list().map(record),
    get(id) {
      const endpoint = endpoints.find(id);
      if (endpoint === undefined) throw new Error(`There is no endpoint ${JSON.stringify(id)}.`);
      return record(endpoint);
    },
    change: (id, changes) => record(orThrow(endpoints.change(id, settingsOf(changes))).endpoint),
    rotate(id, { secret, overlap = OVERLAP_SECONDS } = {}) {
      const overlapMs = Math.round(secondsFrom(overlap) * 1000);
      return record(orThrow(endpoints.rotate(id, { secret, overlapMs })).endpoint);
    },
    remove: (id) => void orThrow(endpoints.remove(id)),
    async test(id) {
      const { emitted } = orThrow(endpoints.test(id));
      await settled();
      return emitted.event.id;
    },
  };
}

function settingsOf({ url, eventTypes, orgId, secret, faults }: Partial<EndpointRequest>) {
  return {
    url,
    orgId,
    secret,
    eventTypes: eventTypes && [...eventTypes],
    faults: faults && faultsFrom(faults),
  };
}

function record(endpoint: Endpoint): EndpointRecord {
  const { id, url, eventTypes, orgId, secret, faults, flagged, consecutiveFailures } = endpoint;
  return {
    id,
    url,
    eventTypes,
    orgId,
    secret,
    faults: faults.map(formatFault),
    flagged,
    consecutiveFailures,
  };
}

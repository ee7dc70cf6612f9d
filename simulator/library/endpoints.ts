import type { EventType } from "../../shared/events.ts";
import type { Endpoint, EndpointResult } from "../domain/endpoints.ts";
import { formatFault } from "../domain/faults.ts";
import type { Simulator } from "../simulator.ts";
import { faultsFrom, type FaultText } from "./faults.ts";

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
  remove(id: string): void;
  /** The dashboard's test action: sends a synthetic `call.completed` to this endpoint alone. Answers its event id. */
  test(id: string): Promise<string>;
};

export function createEndpointControl(simulator: Simulator): EndpointControl {
  const { endpoints, emitter, dispatcher } = simulator;

  function find(id: string): Endpoint {
    const endpoint = endpoints.find(id);
    if (endpoint === undefined) throw new Error(`There is no endpoint ${JSON.stringify(id)}.`);
    return endpoint;
  }

  return {
    add: ({ url, ...rest }) => done(endpoints.register({ url, ...settingsOf(rest) })),
    list: () => endpoints.list().map(record),
    get: (id) => record(find(id)),
    change: (id, { url, ...rest }) =>
      done(endpoints.change(find(id), { ...(url !== undefined && { url }), ...settingsOf(rest) })),
    remove(id) {
      endpoints.remove(find(id).id);
      dispatcher.abandon(id);
    },
    async test(id) {
      const result = emitter.test(find(id));
      if (!result.ok) throw new Error(result.message);
      await dispatcher.settled();
      return result.emissions[0]?.event.id ?? "";
    },
  };
}

function settingsOf({ eventTypes, orgId, secret, faults }: Omit<EndpointRequest, "url">) {
  return {
    ...(eventTypes && { eventTypes: [...eventTypes] }),
    ...(orgId !== undefined && { orgId }),
    ...(secret !== undefined && { secret }),
    ...(faults && { faults: faultsFrom(faults) }),
  };
}

function done(result: EndpointResult): EndpointRecord {
  if (!result.ok) throw new Error(result.message);
  return record(result.endpoint);
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

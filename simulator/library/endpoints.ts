import { type Endpoint, shownEndpoint, OVERLAP_SECONDS } from "../domain/endpoints.ts";
import { parseEventType } from "../domain/event-type.ts";
import { endpointSchema } from "../domain/shapes.ts";
import { dated } from "../domain/spelling.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { faultsFrom, orThrow, secondsFrom, refuseUnknown } from "./input.ts";
import type {
  EndpointControl,
  EndpointRecord,
  EndpointRequest,
  RegisteredEndpoint,
  Rotation,
} from "./surface.ts";

const CHANGEABLE: (keyof EndpointRequest)[] = ["url", "eventTypes", "orgId", "faults"];
const ROTATION: (keyof Rotation)[] = ["secret", "overlap"];

export function createEndpointControl({ endpoints, settled }: Simulator): EndpointControl {
  return {
    add(request) {
      refuseUnknown("simulator.endpoints.add()", request, [...CHANGEABLE, "secret"]);
      return registered(orThrow(endpoints.register({ ...settingsOf(request), url: request.url })).endpoint);
    },
    list: () => endpoints.list().map(record),
    get: (id) => record(orThrow(endpoints.get(id)).endpoint),
    change(id, changes) {
      refuseUnknown("simulator.endpoints.change()", changes, CHANGEABLE);
      return record(orThrow(endpoints.change(id, settingsOf(changes))).endpoint);
    },
    rotate(id, rotation = {}) {
      refuseUnknown("simulator.endpoints.rotate()", rotation, ROTATION);
      const { secret, overlap = OVERLAP_SECONDS } = rotation;
      const overlapMs = Math.round(secondsFrom(overlap) * 1000);
      return registered(orThrow(endpoints.rotate(id, { secret, overlapMs })).endpoint);
    },
    remove: (id) => void orThrow(endpoints.remove(id)),
    async test(id) {
      const { emitted } = orThrow(endpoints.test(id));
      await settled();
      return emitted[0]?.event.id ?? "";
    },
  };
}

function settingsOf({ url, eventTypes, orgId, secret, faults }: Partial<EndpointRequest>) {
  return {
    url,
    orgId,
    secret,
    eventTypes: eventTypes?.map((type) => orThrow(parseEventType(type)).type),
    faults: faults && faultsFrom(faults),
  };
}

const dateEndpoint = dated(endpointSchema);

function record(endpoint: Endpoint): EndpointRecord {
  return dateEndpoint(shownEndpoint(endpoint));
}

function registered(endpoint: Endpoint): RegisteredEndpoint {
  return { ...record(endpoint), secret: endpoint.secret };
}

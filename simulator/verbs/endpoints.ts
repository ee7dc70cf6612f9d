import type { Dispatcher } from "../domain/dispatcher.ts";
import type { EmitResult, Emitter } from "../domain/emitter.ts";
import type {
  Endpoint,
  EndpointChanges,
  EndpointResult,
  Endpoints,
  EndpointSettings,
} from "../domain/endpoints.ts";
import type { World } from "../domain/world/world.ts";
import { addressOf, isListening } from "../processes/listening.ts";
import { notFound, type Refused, refused } from "../domain/refused.ts";
import { isLoopbackHost } from "../domain/endpoint-url.ts";

export function createEndpointVerbs(options: {
  endpoints: Endpoints;
  world: World;
  emitter: Emitter;
  dispatcher: Dispatcher;
}) {
  const { endpoints, world, emitter, dispatcher } = options;

  function get(id: string): EndpointResult {
    const endpoint = endpoints.find(id);
    return endpoint === undefined ? notFound("endpoint", id) : { ok: true, endpoint };
  }

  function of<Result>(id: string, act: (endpoint: Endpoint) => Result): Result | Refused {
    const found = get(id);
    return found.ok ? act(found.endpoint) : found;
  }

  function organizationProblem({ orgId }: EndpointChanges): Refused | undefined {
    if (orgId === undefined || orgId === null || world.findOrganization(orgId)) return undefined;
    const known = world.organizations().map(({ organization }) => organization.id);
    return refused(`There is no organization ${JSON.stringify(orgId)}: use one of ${known.join(", ")}.`);
  }

  return {
    get,
    find: (id: string): Endpoint | undefined => endpoints.find(id),
    list: (): Endpoint[] => endpoints.list(),
    /** Whether a URL could be registered, and whether a server listens there; null for other machines: not probed. */
    async probe(url: string): Promise<ReturnType<Endpoints["checkUrl"]> & { is_listening?: boolean | null }> {
      const checked = endpoints.checkUrl(url);
      if (!checked.ok) return checked;
      const isHere = isLoopbackHost(checked.url);
      return { ...checked, is_listening: isHere ? await isListening(addressOf(checked.url)) : null };
    },
    register(settings: EndpointSettings): EndpointResult {
      return organizationProblem(settings) ?? endpoints.register(settings);
    },
    /** Changes all but the secret; waiting deliveries go to the new address. */
    change: (id: string, changes: EndpointChanges): EndpointResult =>
      of(id, (endpoint) => organizationProblem(changes) ?? endpoints.change(endpoint, changes)),
    /** Gives an endpoint a new secret; the old one keeps signing for `overlapMs` of schedule time. */
    rotate: (id: string, settings: { secret?: string | undefined; overlapMs: number }): EndpointResult =>
      of(id, (endpoint) => endpoints.rotate(endpoint, settings)),
    /** Removes an endpoint and ends its waiting deliveries; past ones stay visible. */
    remove(id: string): EndpointResult {
      const found = get(id);
      if (!found.ok) return found;
      endpoints.remove(id);
      dispatcher.abandon(id);
      return found;
    },
    test: (id: string): EmitResult => of(id, (endpoint) => emitter.test(endpoint)),
  };
}

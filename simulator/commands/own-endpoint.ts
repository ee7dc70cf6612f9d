import type { Endpoint } from "../domain/endpoints.ts";
import { orUsageError } from "./command-error.ts";
import type { RunningSimulator } from "./running-simulator.ts";

/**
 * The endpoint at an address that was given as `flag`. One that a data file has already keeps its secret and what waits for
 * it, unless another secret is given; a new one gets what is given, or `madeUp`.
 */
export function ownEndpoint(
  { simulator: { endpoints } }: RunningSimulator,
  settings: {
    flag: string;
    url: string;
    secret: string | undefined;
    madeUp?: string | undefined;
    eventTypes?: string[];
  },
): { endpoint: Endpoint; isNew: boolean } {
  const { flag, url, secret, madeUp, eventTypes } = settings;
  const existing = endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  if (existing !== undefined && (secret === undefined || secret === existing.secret)) {
    const { endpoint } = orUsageError(endpoints.change(existing.id, { eventTypes }));
    return { endpoint, isNew: false };
  }
  const registration = endpoints.register({ url, eventTypes, secret: secret ?? madeUp });
  const { endpoint } = orUsageError(registration, `${flag} ${url}: `);
  if (existing !== undefined) endpoints.remove(existing.id);
  return { endpoint, isNew: true };
}

import type { Endpoint } from "../domain/endpoints.ts";
import { orUsageError } from "./command-error.ts";
import type { RunningSimulator } from "./running-simulator.ts";

/** Finds or registers the endpoint of `url`; one from a data file keeps its secret unless another is given. */
export function ownEndpoint(
  { simulator: { endpoints } }: RunningSimulator,
  settings: { flag: string; url: string; secret: string | undefined; eventTypes?: string[] },
): { endpoint: Endpoint; isNew: boolean } {
  const { flag, url, secret, eventTypes } = settings;
  const existing = endpoints.list().find((endpoint) => endpoint.url === new URL(url).href);
  if (existing !== undefined && (secret === undefined || secret === existing.secret)) {
    const { endpoint } = orUsageError(endpoints.change(existing.id, { eventTypes }));
    return { endpoint, isNew: false };
  }
  const registration = endpoints.register({ url, eventTypes, secret });
  const { endpoint } = orUsageError(registration, `${flag} ${url}: `);
  if (existing !== undefined) endpoints.remove(existing.id);
  return { endpoint, isNew: true };
}

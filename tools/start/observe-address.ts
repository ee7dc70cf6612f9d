import { localHostInUrl } from "../../shared/server.ts";

const DEFAULT_ADMIN_PORT = "3001";

/**
 * Where the reference receiver with these settings reports what it did with the event {id}; undefined if only its log shows
 * the port.
 */
export function observeAddress(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const port = environment["ADMIN_PORT"] || DEFAULT_ADMIN_PORT;
  if (port === "0") return undefined;
  return `http://${localHostInUrl(environment["ADMIN_HOST"] || "127.0.0.1")}:${port}/inbox/{id}`;
}

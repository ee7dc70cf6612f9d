import { lookup as systemLookup } from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { bareHost, isAllowedAddress } from "../domain/endpoint-url.ts";

/** The error code for an address that an endpoint may not have; reported as a DNS failure. */
export const FORBIDDEN_ADDRESS = "ERR_FORBIDDEN_ADDRESS";

/**
 * Begins to connect to the host of `url` and hands out the sockets at once, so that a deadline can destroy them at any
 * stage: the one of TCP, and the one to write to (the same without TLS), which is ready at `readyEvent`. The address is
 * checked again after the name was resolved, since a name may point elsewhere by then; a forbidden one is not connected to.
 */
export function connect(options: {
  url: URL;
  allowedHosts: readonly string[];
  /** For tests; the system's resolver otherwise. */
  lookup?: LookupFunction | undefined;
}): { tcp: Socket; socket: Socket; readyEvent: "connect" | "secureConnect" } {
  const { url, allowedHosts, lookup = systemLookup } = options;
  const isTls = url.protocol === "https:";
  const host = bareHost(url);
  // An address needs no look-up, but the list of allowed hosts may have changed since it was registered.
  if (isIP(host) !== 0 && !isAllowedAddress(url, host, allowedHosts)) throw forbidden(host, [host]);
  const tcp = connectTcp({
    host,
    port: Number(url.port || (isTls ? 443 : 80)),
    lookup: guarded(lookup, url, allowedHosts),
  });
  if (!isTls) return { tcp, socket: tcp, readyEvent: "connect" };
  // A server name of TLS is never an address.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  // Loaded on demand: that takes as long as loading the rest of the sender.
  const socket = process
    .getBuiltinModule("node:tls")
    .connect({ socket: tcp, host, ALPNProtocols: ["http/1.1"], ...servername });
  return { tcp, socket, readyEvent: "secureConnect" };
}

function guarded(lookup: LookupFunction, url: URL, allowedHosts: readonly string[]): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "", 0);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const allowed = addresses.filter(({ address }) => isAllowedAddress(url, address, allowedHosts));
      const [first] = allowed;
      if (first === undefined) {
        const refusal = forbidden(
          hostname,
          addresses.map(({ address }) => address),
        );
        return callback(refusal, "", 0);
      }
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

function forbidden(hostname: string, addresses: readonly string[]): Error {
  const error = new Error(`${hostname} is at ${addresses.join(", ")}, where no endpoint may be`);
  return Object.assign(error, { code: FORBIDDEN_ADDRESS });
}

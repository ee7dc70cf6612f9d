import { lookup as systemLookup } from "node:dns";
import { connect as connectTcp, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { buildConnector } from "undici";
import { isAllowedAddress } from "../domain/endpoint-url.ts";

/** The name of the error for an address that an endpoint may not have; told as a DNS failure. */
export const FORBIDDEN_ADDRESS = "ERR_FORBIDDEN_ADDRESS";

/**
 * How one attempt connects: it hands out the socket at once, so that the deadline can destroy it while it is still
 * connecting, and looks at the address again after the name was resolved, since a name can point elsewhere by then.
 */
export function createConnector(options: {
  url: URL;
  allowedHosts: readonly string[];
  onSocket: (socket: Socket) => void;
}): buildConnector.connector {
  const lookup = guardedLookup(options.url, options.allowedHosts);
  return ({ hostname, port, protocol, servername }, callback) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const isTls = protocol === "https:";
    const socket = isTls
      ? connectTls({
          host,
          port: Number(port || 443),
          servername: servername ?? host,
          ALPNProtocols: ["http/1.1"],
          lookup,
        })
      : connectTcp({ host, port: Number(port || 80), lookup });
    socket.setNoDelay(true);
    options.onSocket(socket);
    const fail = (error: Error) => callback(error, null);
    socket.once("error", fail);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      socket.off("error", fail);
      callback(null, socket);
    });
  };
}

function guardedLookup(url: URL, allowedHosts: readonly string[]): LookupFunction {
  return (hostname, lookupOptions, callback) => {
    systemLookup(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      const allowed = addresses.filter(({ address }) => isAllowedAddress(url, address, allowedHosts));
      const [first] = allowed;
      if (first === undefined) {
        const found = addresses.map(({ address }) => address).join(", ");
        const refusal = new Error(`${hostname} resolves to ${found}, which an endpoint may not have`);
        return callback(Object.assign(refusal, { code: FORBIDDEN_ADDRESS }), "", 0);
      }
      return lookupOptions.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

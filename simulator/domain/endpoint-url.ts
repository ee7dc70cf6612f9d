import { BlockList, isIP, isIPv4 } from "node:net";

export type EndpointUrl = { ok: true; url: string } | { ok: false; message: string };

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Where clouds keep the credentials of a machine; no customer's endpoint lives there. */
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LINK_LOCAL.addSubnet("fe80::", 10, "ipv6");

/**
 * Whether the service would register `text` as an endpoint (SPEC §6 Registration): https, or http on a loopback name or
 * on one of `allowedHosts`; no user information, no fragment. The message says what to change.
 */
export function checkEndpointUrl(text: string, allowedHosts: readonly string[]): EndpointUrl {
  const url = URL.parse(text);
  if (url === null) {
    return refuse(
      `${JSON.stringify(text)} is not a URL: write it in full, such as http://localhost:3000/webhooks.`,
    );
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return refuse(`${url.protocol}// is not a web address: use https://, or http://localhost.`);
  }
  if (url.username !== "" || url.password !== "") {
    return refuse(
      "An endpoint URL carries no user name or password: the signature authenticates deliveries.",
    );
  }
  if (url.hash !== "" || text.includes("#")) {
    return refuse("An endpoint URL carries no #fragment: it is never sent to a server.");
  }
  const host = bareHost(url);
  const isAllowed = allowedHosts.includes(host);
  if (isIP(host) !== 0 && !isAllowed && contains(LINK_LOCAL, host)) {
    return refuse(`${host} is a link-local address: add --allow-host ${host} if it really is your receiver.`);
  }
  if (url.protocol === "http:" && !isLoopbackName(host) && !isAllowed) {
    return refuse(
      `http:// is for localhost only, and ${host} is not: use https://, or start the simulator with --allow-host ${host}.`,
    );
  }
  return { ok: true, url: url.href };
}

/**
 * Whether an address that the host of `url` resolved to may be connected to. Asked again at every attempt, since a name
 * can point elsewhere by then.
 */
export function isAllowedAddress(url: URL, address: string, allowedHosts: readonly string[]): boolean {
  if (allowedHosts.includes(bareHost(url))) return true;
  if (url.protocol === "http:") return contains(LOOPBACK, address);
  return !contains(LINK_LOCAL, address);
}

function refuse(message: string): EndpointUrl {
  return { ok: false, message };
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/** Whether the host of `url` is this machine by its name or address; nothing is looked up. */
export function isLoopbackHost(url: string): boolean {
  return isLoopbackName(bareHost(new URL(url)));
}

function isLoopbackName(host: string): boolean {
  if (isIP(host) !== 0) return contains(LOOPBACK, host);
  return host === "localhost" || host.endsWith(".localhost");
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

import { kindOfAddress } from "./address.ts";
import { type Refused, refused } from "./refused.ts";

export type EndpointUrl = { ok: true; url: string } | Refused;

/**
 * Whether the service would register `text` as an endpoint (SPEC §6 Registration): https, or http on a loopback name or
 * on one of `allowedHosts`; no user information, no fragment; no address of a private, link-local or reserved range unless it
 * is one of `allowedHosts`, in any notation. The message says what to change.
 */
export function checkEndpointUrl(text: string, allowedHosts: readonly string[]): EndpointUrl {
  const url = URL.parse(text);
  if (url === null)
    return refused(
      `${JSON.stringify(text)} is not a URL: write it in full, such as http://localhost:3000/webhooks.`,
    );
  if (/^[\w.-]+:\d/.test(text))
    return refused(`${JSON.stringify(text)} has no scheme: write it in full, such as http://${text}.`);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return refused(`${url.protocol}// is not a web address: use https://, or http://localhost.`);
  if (url.username !== "" || url.password !== "")
    return refused("Remove the user name and password from the URL: the signature authenticates deliveries.");
  if (url.hash !== "" || text.includes("#"))
    return refused("Remove the #fragment from the URL: it is never sent to a server.");
  if (url.port === "0") return refused("Port 0 is not valid: give the port of your receiver.");
  const host = bareHost(url);
  const isAllowed = allowedHosts.includes(host);
  const kind = kindOfAddress(host) ?? "public";
  if (!isAllowed && kind !== "public" && kind !== "loopback")
    return refused(`${host} is a ${kind} address: add --allow-host ${host} if it really is your receiver.`);
  if (url.protocol === "http:" && !isLoopbackName(host) && !isAllowed)
    return refused(
      `http:// is for localhost only, and ${host} is not: use https://, or start with --allow-host ${host}.`,
    );
  return { ok: true, url: url.href };
}

/** Whether an attempt may connect to this address of `url`'s host; checked each time, since names can move. */
export function isAllowedAddress(url: URL, address: string, allowedHosts: readonly string[]): boolean {
  if (allowedHosts.includes(bareHost(url))) return true;
  const kind = kindOfAddress(address);
  return kind === "loopback" || (kind === "public" && url.protocol === "https:");
}

/** The host of a URL; an IPv6 address without brackets. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/** Whether the host of `url` is this machine by its name or address; nothing is looked up. */
export function isLoopbackHost(url: string): boolean {
  return isLoopbackName(bareHost(new URL(url)));
}

function isLoopbackName(host: string): boolean {
  const kind = kindOfAddress(host);
  return kind === undefined ? host === "localhost" || host.endsWith(".localhost") : kind === "loopback";
}

/** Whether a program that is bound to `host` listens at all addresses of its machine. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** `host`, a name or an address, as it is written in a URL: an address of IPv6 stands in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** As `hostInUrl`, where the program that is bound to `host` is reached from its own machine. */
export function localHostInUrl(host: string): string {
  if (!isWildcard(host)) return hostInUrl(host);
  return host === "::" ? "[::1]" : "127.0.0.1";
}

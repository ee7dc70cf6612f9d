import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * What kind of place an IP address is: this machine; a network of its own, which only its members reach; where clouds keep
 * the credentials of a machine; nowhere that could have a receiver; or the Internet.
 */
export type AddressKind = "loopback" | "private" | "link-local" | "reserved" | "public";

/** Ranges by kind; the first kind with a range that holds an address is its kind. */
const RANGES = {
  loopback: ranges("127.0.0.0/8", "::1/128"),
  // The last three are where Alibaba, Oracle and AWS answer a machine's questions about itself.
  "link-local": [
    ...ranges("169.254.0.0/16", "fe80::/10"),
    ...ranges("100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"),
  ],
  private: [
    ...ranges("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15"),
    ...ranges("fc00::/7", "fec0::/10", "64:ff9b:1::/48"),
  ],
  reserved: [
    ...ranges("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
    ...ranges("224.0.0.0/4", "240.0.0.0/4", "::/128", "100::/64", "2001:db8::/32", "ff00::/8"),
  ],
};

/** Which of two kinds says more against an address that is both. */
const STRICTEST_FIRST: readonly AddressKind[] = ["link-local", "reserved", "private", "loopback", "public"];

/**
 * The kind of an IP address; undefined for what is none. An IPv6 address that carries one of IPv4 (mapped, translated,
 * tunnelled) leads there, and is judged like it.
 */
export function kindOfAddress(text: string): AddressKind | undefined {
  const bare = text.replace(/%.*$/, "");
  if (isIP(bare) === 0) return undefined;
  const address = ipaddr.parse(bare);
  const own = kindOf(address);
  if (address.kind() === "ipv4") return own;
  const carried = carriedAddresses(ipaddr.IPv6.parse(bare).parts).map((inner) => kindOf(ipaddr.parse(inner)));
  // A public wrapping says nothing about what is inside; any other is what it is.
  const kinds = own === "public" && carried.length > 0 ? carried : [own, ...carried];
  return STRICTEST_FIRST.find((kind) => kinds.includes(kind));
}

function kindOf(address: ipaddr.IPv4 | ipaddr.IPv6): AddressKind {
  const kind = ipaddr.subnetMatch(address, RANGES, "public");
  return STRICTEST_FIRST.find((known) => known === kind) ?? "public";
}

function ranges(...texts: string[]): [ipaddr.IPv4 | ipaddr.IPv6, number][] {
  return texts.map((text) => ipaddr.parseCIDR(text));
}

/** The IPv4 addresses that an IPv6 address stands for, by each way there is to carry one. */
function carriedAddresses(groups: readonly number[]): string[] {
  const at = (index: number) => groups[index] ?? 0;
  const isZero = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  const last = dotted(at(6), at(7));
  const carried: string[] = [];
  // ::ffff:a.b.c.d (mapped), ::ffff:0:a.b.c.d (translated), ::a.b.c.d (compatible; :: and ::1 are themselves)
  if (isZero(0, 5) && at(5) === 0xffff) carried.push(last);
  if (isZero(0, 4) && at(4) === 0xffff && at(5) === 0) carried.push(last);
  if (isZero(0, 6) && (at(6) !== 0 || at(7) > 1)) carried.push(last);
  // 64:ff9b::a.b.c.d and 64:ff9b:1::…:a.b.c.d (NAT64)
  if (at(0) === 0x64 && at(1) === 0xff9b) carried.push(last);
  // 2002:ab:cd:: (6to4), 2001:0:server::client (Teredo, the client's inverted), …:0:5efe:a.b.c.d (ISATAP)
  if (at(0) === 0x2002) carried.push(dotted(at(1), at(2)));
  if (at(0) === 0x2001 && at(1) === 0) carried.push(dotted(at(2), at(3)), dotted(~at(6), ~at(7)));
  if ((at(4) & 0xfdff) === 0 && at(5) === 0x5efe) carried.push(last);
  return carried;
}

function dotted(high: number, low: number): string {
  return [(high >> 8) & 255, high & 255, (low >> 8) & 255, low & 255].join(".");
}

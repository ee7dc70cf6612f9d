import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The kind of an IP address; clouds serve a machine's credentials at `link-local` ones. */
export type AddressKind = "loopback" | "private" | "link-local" | "reserved" | "public";

/** The ranges of ipaddr.js by kind. All others, such as tunnels and documentation, have no receiver. */
const KIND_OF_RANGE: Readonly<Record<string, AddressKind>> = {
  unicast: "public",
  loopback: "loopback",
  linkLocal: "link-local",
  private: "private",
  uniqueLocal: "private",
  carrierGradeNat: "private",
};

/** The metadata services of Alibaba, Oracle and AWS. */
const METADATA: readonly string[] = ["100.100.100.200", "192.0.0.192", "fd00:ec2::254"];

/** The kind of an IP address; undefined for other text. An IPv6 address that maps an IPv4 one has its kind. */
export function kindOfAddress(text: string): AddressKind | undefined {
  const bare = text.replace(/%.*$/, "");
  if (isIP(bare) === 0) return undefined;
  const address = ipaddr.process(bare);
  if (METADATA.includes(address.toString())) return "link-local";
  const bytes = address.toByteArray();
  // NAT64, by which an IPv6-only network reaches a host of IPv4, and ::a.b.c.d.
  const isCompatible =
    bytes.length === 16 && address.range() === "unicast" && !bytes.slice(0, 12).some((byte) => byte !== 0);
  if (isCompatible || address.range() === "rfc6052") return kindOfAddress(bytes.slice(-4).join("."));
  return KIND_OF_RANGE[address.range()] ?? "reserved";
}

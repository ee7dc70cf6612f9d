import { check, integer, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { kindOfAddress } from "../../../simulator/domain/address.ts";

/** First and last address of each range that is not the Internet, as numbers: written down a second time on purpose. */
const RANGES: [string, string, string][] = [
  ["127.0.0.0", "127.255.255.255", "loopback"],
  ["169.254.0.0", "169.254.255.255", "link-local"],
  ["100.100.100.200", "100.100.100.200", "link-local"],
  ["192.0.0.192", "192.0.0.192", "link-local"],
  ["10.0.0.0", "10.255.255.255", "private"],
  ["172.16.0.0", "172.31.255.255", "private"],
  ["192.168.0.0", "192.168.255.255", "private"],
  ["100.64.0.0", "100.127.255.255", "private"],
  ["198.18.0.0", "198.19.255.255", "private"],
  ["0.0.0.0", "0.255.255.255", "reserved"],
  ["192.0.0.0", "192.0.0.255", "reserved"],
  ["192.0.2.0", "192.0.2.255", "reserved"],
  ["198.51.100.0", "198.51.100.255", "reserved"],
  ["203.0.113.0", "203.0.113.255", "reserved"],
  ["224.0.0.0", "255.255.255.255", "reserved"],
];

function expectedKind(value: number): string {
  return RANGES.find(([first, last]) => value >= numberOf(first) && value <= numberOf(last))?.[2] ?? "public";
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function dotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
}

function hex(value: number): string {
  return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

/** Every way to write an IPv4 address within one of IPv6. */
function carriers(value: number): string[] {
  const [high = "", low = ""] = hex(value).split(":");
  const padded = `${high.padStart(4, "0")}:${low.padStart(4, "0")}`;
  const inverted = hex(~value >>> 0);
  return [
    `::ffff:${dotted(value)}`,
    `::FFFF:${hex(value)}`,
    `0:0:0:0:0:ffff:${hex(value)}`,
    `0000:0000:0000:0000:0000:ffff:${padded}`,
    `::ffff:0:${dotted(value)}`,
    `64:ff9b::${dotted(value)}`,
    `64:ff9b:0:0:0:0:${hex(value)}`,
    `0064:FF9B::${padded}`,
    `2002:${hex(value)}::`,
    `2002:${hex(value)}:0:0:0:0:1`,
    `2001:0:5db8:d822:0:0:${inverted}`,
    `2001:0:${hex(value)}::a247:27dd`,
    `2606:4700::5efe:${dotted(value)}`,
    `2606:4700::200:5efe:${hex(value)}`,
    `::ffff:${dotted(value)}%lo`,
  ];
}

/** The forms of an address that are judged as something else than they are. */
function misjudged(value: number): string[] {
  // A compatible form of a small number is an address of its own: :: and ::1.
  const forms = [dotted(value), ...carriers(value), ...(value > 1 ? [`::${dotted(value)}`] : [])];
  return forms.filter((form) => kindOfAddress(form) !== expectedKind(value));
}

describe("the kind of an address", () => {
  test("at both ends of each range, and one beside them, in each of sixteen forms", () => {
    const values = RANGES.flatMap(([first, last]) => [
      numberOf(first) - 1,
      numberOf(first),
      numberOf(last),
      numberOf(last) + 1,
    ]).filter((value) => value >= 0 && value < 2 ** 32);
    expect(values.flatMap(misjudged)).toEqual([]);
  });

  test("anywhere else, in each of the forms", () => {
    const metadata = integer({ min: numberOf("169.254.0.0"), max: numberOf("169.254.255.255") });
    for (const values of [nat(0xffff_ffff), metadata]) {
      const judged = property(values, (value) => misjudged(value).length === 0);
      expect(check(judged, { numRuns: 300 })).toMatchObject({ failed: false });
    }
  });

  test.each([
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::", "reserved"],
    ["fe80::1", "link-local"],
    ["febf:ffff::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fd00:ec2::254", "link-local"],
    ["FD00:0EC2:0:0:0:0:0:0254", "link-local"],
    ["fd00:ec2::255", "private"],
    ["fc00::", "private"],
    ["fdff:ffff::1", "private"],
    ["fec0::1", "private"],
    ["64:ff9b:1::93.184.216.34", "private"],
    ["64:ff9b:1::169.254.169.254", "link-local"],
    ["ff02::1", "reserved"],
    ["2001:db8::1", "reserved"],
    ["100::1", "reserved"],
    ["2606:4700:4700::1111", "public"],
    ["2001:4860:4860::8888", "public"],
    ["::ffff:93.184.216.34", "public"],
    ["fbff::1", "public"],
    ["example.com", undefined],
    ["", undefined],
    ["1.2.3", undefined],
    ["1.2.3.4.5", undefined],
    [":::1", undefined],
  ])("%s: %s", (address, kind) => {
    expect(kindOfAddress(address)).toBe(kind);
  });
});

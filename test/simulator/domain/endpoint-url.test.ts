import { describe, expect, test } from "vitest";
import { checkEndpointUrl, isAllowedAddress } from "../../../simulator/domain/endpoint-url.ts";

const ALLOWED = ["receiver", "10.0.0.5", "fe80::1"];

describe("an endpoint's URL (SPEC §6 Registration)", () => {
  test.each([
    ["https://example.com/webhooks", "https://example.com/webhooks"],
    ["https://example.com", "https://example.com/"],
    ["https://example.com:8443/a?b=c", "https://example.com:8443/a?b=c"],
    ["HTTPS://EXAMPLE.com/", "https://example.com/"],
    ["https://10.0.0.5/", "https://10.0.0.5/"],
    ["https://93.184.216.34/", "https://93.184.216.34/"],
    ["https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/"],
    ["http://localhost:3000/webhooks", "http://localhost:3000/webhooks"],
    ["http://LOCALHOST/", "http://localhost/"],
    ["http://app.localhost:3000/", "http://app.localhost:3000/"],
    ["http://127.0.0.1/", "http://127.0.0.1/"],
    ["http://127.255.255.254/", "http://127.255.255.254/"],
    ["http://2130706433/", "http://127.0.0.1/"],
    ["http://0x7f.1/", "http://127.0.0.1/"],
    ["http://[::1]:3000/", "http://[::1]:3000/"],
    ["http://receiver:3000/", "http://receiver:3000/"],
    ["http://10.0.0.5/", "http://10.0.0.5/"],
    ["http://[fe80::1]/", "http://[fe80::1]/"],
  ])("may be %s", (text, url) => {
    expect(checkEndpointUrl(text, ALLOWED)).toEqual({ ok: true, url });
  });

  test.each<[string, RegExp]>([
    ["", /is not a URL/],
    ["https://example.com:0/x", /Port 0/],
    ["example.com/webhooks", /is not a URL/],
    ["/webhooks", /is not a URL/],
    ["http://", /is not a URL/],
    ["ftp://example.com/", /is not a web address/],
    ["file:///etc/passwd", /is not a web address/],
    ["javascript:alert(1)", /is not a web address/],
    ["ws://localhost/", /is not a web address/],
    ["http://example.com/", /--allow-host example\.com/],
    ["http://localhost.example.com/", /localhost only/],
    ["http://notlocalhost/", /localhost only/],
    ["http://127.0.0.1.example.com/", /localhost only/],
    ["http://93.184.216.34/", /localhost only/],
    ["http://10.0.0.6/", /10\.0\.0\.6 is a private address/],
    ["https://192.168.1.1/", /private address: add --allow-host 192\.168\.1\.1/],
    ["https://172.31.255.255/", /private/],
    ["https://[fd12::1]/", /private/],
    ["http://0.0.0.0/", /reserved/],
    ["http://[::]/", /reserved/],
    ["http://[::2]/", /reserved/],
    ["https://user:pass@example.com/", /user name and password/],
    ["https://user@example.com/", /user name and password/],
    ["http://localhost@example.com/", /user name and password/],
    ["https://example.com/#part", /fragment/],
    ["https://example.com/#", /fragment/],
    ["https://169.254.169.254/latest/meta-data", /link-local/],
    ["http://169.254.169.254/", /link-local/],
    ["https://[fe80::2]/", /link-local/],
    ["https://[::ffff:169.254.169.254]/", /link-local/],
    ["https://[::a9fe:a9fe]/", /link-local/],
    ["https://[64:ff9b::a9fe:a9fe]/", /link-local/],
    ["https://[fd00:ec2::254]/", /link-local/],
    ["https://0xa9.0xfe.43518/", /link-local/],
    ["https://2852039166/", /link-local/],
  ])("is refused as %j, in words", (text, words) => {
    expect(checkEndpointUrl(text, ALLOWED)).toEqual({ ok: false, message: expect.stringMatching(words) });
  });
});

describe("the address that a name has at connect time", () => {
  test.each<[string, string, boolean]>([
    ["http://localhost/", "127.0.0.1", true],
    ["http://localhost/", "::1", true],
    ["http://localhost/", "::ffff:127.0.0.1", true],
    ["http://localhost/", "192.168.0.2", false],
    ["http://localhost/", "169.254.169.254", false],
    ["https://example.com/", "93.184.216.34", true],
    ["https://example.com/", "10.0.0.1", false],
    ["https://example.com/", "fd00:ec2::254", false],
    ["https://example.com/", "64:ff9b::10.0.0.1", false],
    ["https://example.com/", "64:ff9b::93.184.216.34", true],
    ["http://localhost/", "93.184.216.34", false],
    ["http://localhost/", "nonsense", false],
    ["https://example.com/", "127.0.0.1", true],
    ["https://example.com/", "169.254.169.254", false],
    ["https://example.com/", "fe80::1", false],
    ["https://example.com/", "::ffff:a9fe:a9fe", false],
    ["http://receiver/", "172.17.0.2", true],
    ["http://receiver/", "169.254.1.1", true],
  ])("%s at %s: %s", (url, address, allowed) => {
    expect(isAllowedAddress(new URL(url), address, ALLOWED)).toBe(allowed);
  });
});

import { describe, expect, test } from "vitest";
import { loadConfig, type Config } from "../../receiver/config.ts";

function problems(environment: Record<string, string>): string[] {
  const loaded = loadConfig({ SIGNING_SECRET: "s", ...environment });
  return loaded.ok ? [] : loaded.problems;
}

function config(environment: Record<string, string>): Config {
  const loaded = loadConfig({ SIGNING_SECRET: "s", ...environment });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  return loaded.config;
}

describe("the configuration", () => {
  test("needs a signing secret and nothing else", () => {
    expect(config({ SIGNING_SECRET: "new,old" })).toMatchObject({
      port: 3_000,
      adminPort: 3_001,
      host: "127.0.0.1",
      webhookPath: "/webhooks",
      signingSecrets: ["new", "old"],
      databaseFile: "data/receiver.db",
      databaseUrl: undefined,
      role: "all",
      maxBodyBytes: 1_048_576,
      keepAliveMs: 5_000,
      retentionDays: 30,
      idRetentionDays: 400,
      maximumAgeMs: 72 * 3_600_000,
      shutdownTimeoutMs: 15_000,
    });
    expect(problems({ SIGNING_SECRET: "" })).toEqual([
      expect.stringMatching(/^SIGNING_SECRET is missing\. /),
    ]);
    expect(loadConfig({ RECEIVER_ROLE: "worker" }).ok).toBe(true);
  });

  test("reports all mistakes at once, sorted, one line each with its variable", () => {
    expect(problems({ PORT: "70000", HOST: "a b", LOG_LEVEL: "loud", RETENTION_DAYS: "0" })).toEqual([
      "HOST contains white space. Remove it.",
      'LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud".',
      'PORT must be a whole number from 0 to 65535, not "70000". Leave it out for 3000.',
      'RETENTION_DAYS must be a whole number from 1 to 3650, not "0". Leave it out for 30.',
    ]);
  });

  test.each(["-1", "1.5", "0x10", " 3000", "1e3", ""])(
    "takes %o for PORT only if it is a whole number",
    (PORT) => {
      expect(problems({ PORT })).toHaveLength(PORT === "" ? 0 : 1);
    },
  );

  test.each([" ", "s ", "\ts", '"s"', "a,", ",a", "a,,b", "a, b"])(
    "refuses the secret %o",
    (SIGNING_SECRET) => {
      expect(problems({ SIGNING_SECRET })[0]).toMatch(
        /^SIGNING_SECRET has (?:an empty|white space.* in a) secret \(\d of \d\)\. Remove /,
      );
    },
  );

  test.each([
    ["sqlite:data/receiver.db", "data/receiver.db"],
    ["sqlite:/var/lib/receiver.db", "/var/lib/receiver.db"],
    ["sqlite:///var/lib/receiver.db", "/var/lib/receiver.db"],
    ["  sqlite: my inbox.db \n", "my inbox.db"],
  ])("%o names one file, with or without blanks around it", (DATABASE_URL, databaseFile) => {
    expect(config({ DATABASE_URL })).toMatchObject({ databaseFile, databaseUrl: undefined });
  });

  test.each([
    ["sqlite://data/receiver.db", "Write sqlite:data/receiver.db"],
    ["sqlite:data/receiver.db?mode=ro", "Write sqlite:data/receiver.db"],
    ["sqlite:file:data/receiver.db?cache=shared", "Write sqlite:data/receiver.db"],
    ["sqlite:", "sqlite:/var/lib/receiver.db"],
    ["sqlite:~/receiver.db", "whole path"],
    ["sqlite::memory:", "sqlite:/var/lib/receiver.db"],
    ["mysql://host/db", "postgres://host/receiver"],
    ["postgres://user:p/w@host:x/db", "/ is %2F"],
  ])("%s is refused with the form to use", (DATABASE_URL, form) => {
    expect(problems({ DATABASE_URL })).toEqual([expect.stringContaining(form)]);
  });

  test("the admin port is open to other machines only with a token", () => {
    for (const ADMIN_HOST of ["0.0.0.0", "::", "10.0.0.7", "127.example.com"]) {
      expect(problems({ ADMIN_HOST })).toEqual([
        expect.stringMatching(/^ADMIN_HOST [^ ]+ lets .*ADMIN_TOKEN/),
      ]);
      const ADMIN_TOKEN = "0123456789abcdef";
      expect(config({ ADMIN_HOST, ADMIN_TOKEN }).adminAllowedHosts).toBeUndefined();
    }
    expect(config({ ADMIN_HOST: "LocalHost" }).adminAllowedHosts).toContain("localhost");
    expect(problems({ ADMIN_TOKEN: "short" })).toHaveLength(1);
    expect(problems({ ADMIN_HOST: "127.0.0.1 " })).toEqual(["ADMIN_HOST contains white space. Remove it."]);
  });

  test("the REST API needs its address and its key, and no secret in the address", () => {
    const API_BASE_URL = "https://api.example.com";
    const needed = [expect.stringMatching(/^API_BASE_URL and API_KEY are needed together\. /)];
    for (const half of [{ API_BASE_URL }, { API_KEY: "key" }]) expect(problems(half)).toEqual(needed);
    expect(config({ API_BASE_URL, API_KEY: "key" }).api).toEqual({ baseUrl: API_BASE_URL, key: "key" });
    for (const url of ["https://hidden@example.com", "https://example.com/?key=hidden", "ftp://hidden"]) {
      const found = problems({ API_BASE_URL: url, API_KEY: "key" });
      expect(found).toHaveLength(1);
      expect(found.join()).not.toContain("hidden");
    }
  });

  test("an id is kept longer than its body, and longer than a retry may take", () => {
    expect(problems({ RETENTION_DAYS: "30", ID_RETENTION_DAYS: "29" })).toHaveLength(1);
    expect(problems({ RETENTION_DAYS: "30", ID_RETENTION_DAYS: "30" })).toEqual([]);
    expect(problems({ RETENTION_DAYS: "1", ID_RETENTION_DAYS: "1" })).toHaveLength(1);
  });
});

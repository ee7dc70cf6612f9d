import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig, type Config } from "../../receiver/config.ts";
import { createRedactor } from "../../receiver/operations/secrets.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

function problems(environment: Record<string, string>): string[] {
  const loaded = loadConfig(environment);
  return loaded.ok ? [] : loaded.problems;
}

describe("the configuration", () => {
  test.each(["postgres://user:p/w@host/database", "host=127.0.0.1 dbname=receiver"])(
    "how to write %s is said in words of which none is taken for a password and hidden",
    (url) => {
      const [said = "", ...others] = problems({ SIGNING_SECRET: "s", DATABASE_URL: url });
      expect([said, others]).toEqual([expect.stringContaining("postgres://host"), []]);
      expect(createRedactor([])(said)).toBe(said);
    },
  );

  test("needs a signing secret and nothing else", () => {
    expect(loadConfig({ SIGNING_SECRET: "s" })).toMatchObject({
      ok: true,
      config: {
        port: 3_000,
        adminPort: 3_001,
        host: "127.0.0.1",
        webhookPath: "/webhooks",
        signingSecrets: ["s"],
        databaseFile: "data/receiver.db",
        role: "all",
        maxBodyBytes: 1_048_576,
        retentionDays: 30,
        idRetentionDays: 400,
        shutdownTimeoutMs: 15_000,
      },
    });
    expect(problems({})).toEqual([expect.stringMatching(/^SIGNING_SECRET: is missing\. Set it/)]);
    expect(problems({ RECEIVER_ROLE: "worker" })).toEqual([]);
  });

  test.each([
    "https://user:hidden-password@api.example.com",
    "https://hidden-password@api.example.com/v1",
    "https://api.example.com/?key=hidden-password",
    "https://api.example.com/#hidden-password",
  ])("refuses %s for the REST API, without repeating what is in it", (url) => {
    const found = problems({ SIGNING_SECRET: "s", API_KEY: "key", API_BASE_URL: url });
    expect(found).toEqual([expect.stringMatching(/^API_BASE_URL: .*API_KEY.*Remove them\.$/)]);
    expect(found.join()).not.toContain("hidden-password");
  });

  test.each(["0.0.0.0", "::", "10.0.0.7", "receiver.internal", "127.example.com"])(
    "lets %s have the admin port only with a token or with names to ask by",
    (host) => {
      const beyond = { SIGNING_SECRET: "s", ADMIN_HOST: host };
      expect(problems(beyond)).toEqual([
        expect.stringMatching(/^ADMIN_HOST: .*ADMIN_TOKEN.*ADMIN_ALLOWED_HOSTS/),
      ]);
      expect(problems({ ...beyond, ADMIN_TOKEN: "" })).toHaveLength(1);
      expect(problems({ ...beyond, ADMIN_TOKEN: "fifteen-letters" })).toEqual([
        expect.stringMatching(/^ADMIN_TOKEN: must have at least 16 characters.*openssl/),
      ]);
      expect(problems({ ...beyond, ADMIN_TOKEN: "x".repeat(16) })).toEqual([]);
      expect(problems({ ...beyond, ADMIN_ALLOWED_HOSTS: "receiver.internal,[fd00::7],10.0.0.7" })).toEqual(
        [],
      );
      expect(problems({ ...beyond, ADMIN_ALLOWED_HOSTS: "receiver.internal:3001" })).toEqual([
        expect.stringMatching(/^ADMIN_ALLOWED_HOSTS: /),
      ]);
    },
  );

  test.each(["127.0.0.1", "127.0.0.2", "localhost", "::1"])("lets %s have it as it is", (host) => {
    expect(problems({ SIGNING_SECRET: "s", ADMIN_HOST: host })).toEqual([]);
  });

  test("reports every mistake at once, one line each, with the fix", () => {
    const found = problems({
      PORT: "80 80",
      SIGNING_SECRET: "one two,",
      DATABASE_URL: "mysql://host/db",
      RECEIVER_ROLE: "boss",
      API_KEY: "key",
      WEBHOOK_PATH: "/healthz",
      RETENTION_DAYS: "500",
      LOG_LEVEL: "loud",
      MAX_ATTEMPTS: "0",
    });
    expect(found.map((problem) => problem.split(":")[0])).toEqual([
      "API_BASE_URL",
      "DATABASE_URL",
      "ID_RETENTION_DAYS",
      "LOG_LEVEL",
      "MAX_ATTEMPTS",
      "PORT",
      "RECEIVER_ROLE",
      "SIGNING_SECRET",
      "SIGNING_SECRET",
      "WEBHOOK_PATH",
    ]);
    for (const problem of found) expect(problem).not.toContain("\n");
  });

  // As Docker hands on what stands in a file of variables.
  test.for(['"s"', "'s'", 'a,"b"'])("refuses the secret %s for its quotes", (secret) => {
    expect(problems({ SIGNING_SECRET: secret })).toEqual([expect.stringContaining("stands in quotes")]);
  });

  test.for([" s", "s ", "s\n", "a\tb", "a,b c"])("refuses the secret %j for its white space", (secret) => {
    expect(problems({ SIGNING_SECRET: secret })).toEqual([expect.stringContaining("white space")]);
  });

  test("reads secrets from files, but for the line break that ends them", () => {
    const file = join(temporaryDirectory(), "secret");
    writeFileSync(file, "from-file,second\n");
    expect(loadConfig({ SIGNING_SECRET_FILE: file })).toMatchObject({
      config: { signingSecrets: ["from-file", "second"] },
    });
    writeFileSync(file, "from-file\n\n");
    expect(problems({ SIGNING_SECRET_FILE: file })).toEqual([expect.stringContaining("white space")]);
    expect(problems({ SIGNING_SECRET_FILE: file, SIGNING_SECRET: "s" })).toEqual([
      expect.stringContaining("set beside SIGNING_SECRET"),
    ]);
    expect(problems({ SIGNING_SECRET_FILE: `${file}.missing` })).toEqual([expect.stringContaining("ENOENT")]);
  });

  test.each([
    ["SIGNING_SECRET", (read: Config) => read.signingSecrets[0]],
    ["API_KEY", (read: Config) => read.api?.key],
    ["ADMIN_TOKEN", (read: Config) => read.adminToken],
  ])("reads %s from a file of any editor", (name, of) => {
    const file = join(temporaryDirectory(), "secret");
    const rest = { SIGNING_SECRET: "s", API_BASE_URL: "https://api.example.com", API_KEY: "k", [name]: "" };
    for (const end of ["", "\n", "\r\n"]) {
      writeFileSync(file, `sixteen-letters-at-least${end}`);
      const loaded = loadConfig({ ...rest, [`${name}_FILE`]: file });
      expect(loaded.ok && of(loaded.config)).toBe("sixteen-letters-at-least");
    }
  });

  test.each(["/healthz", "/readyz"])("refuses %s as the path of the webhook, which is taken", (path) => {
    expect(problems({ SIGNING_SECRET: "s", WEBHOOK_PATH: path })).toEqual([
      expect.stringMatching(/^WEBHOOK_PATH: is taken/),
    ]);
  });

  test("never repeats a secret in a complaint", () => {
    expect(problems({ SIGNING_SECRET: "hunter2 hunter2", API_KEY: "hunter2 hunter2" }).join()).not.toContain(
      "hunter2",
    );
  });

  test("takes an empty variable for one that is not set", () => {
    expect(loadConfig({ SIGNING_SECRET: "s", PORT: "", API_KEY: "", API_BASE_URL: "" })).toMatchObject({
      config: { port: 3_000, api: undefined },
    });
  });
});

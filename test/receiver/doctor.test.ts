import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { examine } from "../../receiver/operations/doctor.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { API_KEY, startRestService } from "./helpers/rest-service.ts";
import { startTestReceiver, testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

async function diagnose(
  options: { key?: string; environment?: Record<string, string>; skewMs?: number } = {},
) {
  const { engine, config } = await startTestReceiver();
  const { baseUrl } = await startRestService();
  const clock = {
    ...systemClock,
    nowMs: () => Date.now() + (options.skewMs ?? 0),
    sleep: async () => undefined,
  };
  const api = createRestClient({ baseUrl, key: options.key ?? API_KEY, clock, random: () => 1 });
  const environment = {
    DATABASE_URL: `sqlite:${config.databaseFile}`,
    SIGNING_SECRET: "whsec_long_enough_for_all",
    ...options.environment,
  };
  const findings = await examine({
    config: testConfig(environment),
    engine,
    api,
    environment,
  });
  await api.close();
  return findings
    .filter(({ level }) => level !== "ok")
    .map(({ check, level, message }) => `${level} ${check}: ${message}`);
}

test("a healthy receiver has nothing to complain about", async () => {
  expect(await diagnose()).toEqual([]);
});

test("a wrong key, a clock that is off and careless secrets are each named, with what to do", async () => {
  expect(await diagnose({ key: "wrong" })).toEqual([
    expect.stringMatching(/^problem api: .*unauthorized.*Check API_KEY\.$/),
  ]);
  expect(await diagnose({ skewMs: -400_000 })).toEqual([
    expect.stringMatching(/^problem clock: .*behind.*NTP/),
  ]);
  expect(await diagnose({ skewMs: 60_000 })).toEqual([expect.stringMatching(/^warning clock: .*ahead/)]);
  expect(await diagnose({ environment: { SIGNING_SECRET: 'short,"quoted-and-long-enough"' } })).toEqual([
    expect.stringContaining("fewer than"),
    expect.stringContaining("quotation marks"),
    expect.stringContaining("Several secrets"),
  ]);
});

test.each(["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"])(
  "a file of %s that everybody can read is named, with what to do",
  async (name) => {
    const file = join(temporaryDirectory(), "secret");
    writeFileSync(file, "whsec_long_enough_for_all");
    chmodSync(file, 0o604);
    const api = name === "API_KEY" ? { API_BASE_URL: "http://127.0.0.1:1/v1" } : {};
    const environment = { ...api, [name]: "", [`${name}_FILE`]: file };
    expect(await diagnose({ environment })).toEqual([
      `warning secrets: ${file} can be read by everybody: chmod 600 ${file}`,
    ]);
    chmodSync(file, 0o600);
    expect(await diagnose({ environment })).toEqual([]);
  },
);

test("a disk below the low-water mark is a problem", async () => {
  expect(await diagnose({ environment: { MIN_FREE_DISK_BYTES: String(Number.MAX_SAFE_INTEGER) } })).toEqual([
    expect.stringMatching(/^problem disk: .*Make room\.$/),
  ]);
});

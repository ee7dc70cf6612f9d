import { chmodSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { Engine } from "../../receiver/engine.ts";
import { examine } from "../../receiver/operations/doctor.ts";
import { createRestClient } from "../../receiver/operations/rest-client.ts";
import { sampleOrganization } from "../../shared/samples.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { movableClock } from "./helpers/clock.ts";
import { API_KEY, startRestService } from "./helpers/rest-service.ts";
import { startTestReceiver, testConfig, useReceiver, type TestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { workOff } from "./helpers/work-off.ts";

const healthy = useReceiver();

async function diagnose(
  options: {
    key?: string;
    environment?: Record<string, string>;
    skewMs?: number;
    receiver?: TestReceiver;
  } = {},
) {
  const { engine, config } = options.receiver ?? healthy();
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
  expect(await diagnose({ environment: { SIGNING_SECRET: "short,long-and-long-enough" } })).toEqual([
    expect.stringContaining("fewer than"),
    expect.stringContaining("Several secrets"),
  ]);
});

test.each(["SIGNING_SECRET", "API_KEY", "ADMIN_TOKEN"])(
  "a file of %s that everybody can read is named, with what to do",
  async (name) => {
    const file = join(temporaryDirectory(), "secret");
    writeFileSync(file, "whsec_long_enough_for_all");
    const api = name === "API_KEY" ? { API_BASE_URL: "http://127.0.0.1:1/v1" } : {};
    chmodSync(file, 0o602);
    const seen = await diagnose({ environment: { ...api, [name]: "", [`${name}_FILE`]: file } });
    expect(seen).toHaveLength(1);
    chmodSync(file, 0o604);
    const environment = { ...api, [name]: "", [`${name}_FILE`]: file };
    expect(await diagnose({ environment })).toEqual([
      `warning secrets: ${file} can be read by everybody: chmod 600 ${file}`,
    ]);
    chmodSync(file, 0o600);
    expect(await diagnose({ environment })).toEqual([]);
  },
);

test("an .env that everybody can read is named as well", async () => {
  const before = process.cwd();
  process.chdir(temporaryDirectory());
  onTestFinished(() => process.chdir(before));
  for (const [mode, expected] of [
    [0o604, ["warning secrets: .env can be read by everybody: chmod 600 .env"]],
    [0o640, []],
  ] as const) {
    writeFileSync(".env", "");
    chmodSync(".env", mode);
    expect(await diagnose()).toEqual(expected);
  }
});

test("a disk below the low-water mark is a problem", async () => {
  expect(await diagnose({ environment: { MIN_FREE_DISK_BYTES: String(Number.MAX_SAFE_INTEGER) } })).toEqual([
    expect.stringMatching(/^problem disk: .*Make room\.$/),
  ]);
});

test.each([
  [0, undefined],
  [28_000, undefined],
  [-28_000, undefined],
  [
    32_000,
    "warning clock: This machine's clock is S s ahead of the service's. Signatures are good for 300 s",
  ],
  [-32_000, "warning clock: This machine's clock is S s behind the service's. Signatures are good for 300 s"],
  [
    290_000,
    "warning clock: This machine's clock is S s ahead of the service's. Signatures are good for 300 s",
  ],
  [305_000, "problem clock: This machine's clock is S s ahead of the service's. Every signature is refused"],
  [-305_000, "problem clock: This machine's clock is S s behind the service's. Every signature is refused"],
])("a clock that is ahead by %i ms is told of as it should be", async (skewMs, said) => {
  const findings = await diagnose({ skewMs });
  // The service tells its time in whole seconds.
  const seconds = Number(
    /[0-9]+(?= s (?:ahead|behind))/.exec(findings[0] ?? "")?.[0] ?? Math.abs(skewMs / 1_000),
  );
  expect(Math.abs(seconds - Math.abs(skewMs / 1_000))).toBeLessThanOrEqual(1.5);
  const expected =
    said === undefined ? [] : [`${said.replace(" S ", ` ${String(seconds)} `)}: run an NTP client.`];
  expect(findings).toEqual(expected);
});

/** All that is found, with a service and a database that say what the test has them say. */
async function found(
  options: {
    skewMs?: number | undefined;
    probe?: Awaited<ReturnType<Engine["intake"]["probe"]>>;
    damage?: string[];
    secret?: string;
    environment?: Record<string, string>;
  } = {},
) {
  const { engine, config } = healthy();
  const { probe = { ok: true }, damage = [] } = options;
  const api = createRestClient({
    baseUrl: "http://127.0.0.1:1",
    key: "k",
    clock: systemClock,
    random: () => 0,
  });
  const findings = await examine({
    config: testConfig({
      DATABASE_URL: `sqlite:${config.databaseFile}`,
      SIGNING_SECRET: options.secret ?? "whsec_long_enough_for_all",
      ...options.environment,
    }),
    engine: {
      ...engine,
      intake: { ...engine.intake, probe: async () => probe },
      ledger: { ...engine.ledger, check: async () => damage },
    },
    api: { ...api, me: async () => sampleOrganization, clockSkewMs: async () => options.skewMs },
    environment: {},
  });
  return (check: string) =>
    findings.filter((one) => one.check === check).map(({ level, message }) => `${level} ${message}`);
}

test.each([
  [0, "ok This machine's clock is 0 s ahead of the service's."],
  [499, "ok This machine's clock is 0 s behind the service's."],
  [-1_500, "ok This machine's clock is 2 s ahead of the service's."],
  [29_999, "ok This machine's clock is 30 s behind the service's."],
  [
    30_000,
    "warning This machine's clock is 30 s behind the service's. Signatures are good for 300 s: run an NTP client.",
  ],
  [
    -299_999,
    "warning This machine's clock is 300 s ahead of the service's. Signatures are good for 300 s: run an NTP client.",
  ],
  [
    -300_000,
    "problem This machine's clock is 300 s ahead of the service's. Every signature is refused: run an NTP client.",
  ],
  [
    300_000,
    "problem This machine's clock is 300 s behind the service's. Every signature is refused: run an NTP client.",
  ],
  [undefined, "warning The service sends no Date to compare with."],
])("a service whose clock is ahead by %o ms is told as it is", async (skewMs, said) => {
  const of = await found({ skewMs });
  expect(of("clock")).toEqual([said]);
  expect(of("api")).toEqual([`ok The key belongs to ${sampleOrganization.name} (${sampleOrganization.id}).`]);
});

const FIX =
  "Stop the receiver and restore both files from one backup; `reconcile` then brings what came since.";
const POSTGRES = { DATABASE_URL: "postgres://localhost/receiver" };

test.each<[string, Parameters<typeof found>[0], string[]]>([
  ["sound", {}, ["ok It takes writes."]],
  ["damaged", { damage: ["a page", "an index"] }, [`problem a page ${FIX}`, `problem an index ${FIX}`]],
  [
    "weakly set up elsewhere",
    { damage: ["fsync is off"], environment: POSTGRES },
    ["problem fsync is off", "ok It takes writes."],
  ],
  [
    "weakly set up elsewhere, and full",
    {
      damage: ["fsync is off"],
      probe: { ok: false, reason: "full", detail: "the detail" },
      environment: POSTGRES,
    },
    ["problem fsync is off", "problem It takes no writes (full): the detail"],
  ],
  ...(["busy", "full", "read_only", "io_error", "overloaded", "connection_lost"] as const).map(
    (reason): [string, Parameters<typeof found>[0], string[]] => [
      reason,
      { probe: { ok: false, reason, detail: "the detail" } },
      [`problem It takes no writes (${reason}): the detail`],
    ],
  ),
  [
    "corrupt",
    { probe: { ok: false, reason: "corrupt", detail: "the detail" } },
    [`problem It takes no writes (corrupt): the detail ${FIX}`],
  ],
  [
    "corrupt elsewhere",
    { probe: { ok: false, reason: "corrupt", detail: "the detail" }, environment: POSTGRES },
    ["problem It takes no writes (corrupt): the detail"],
  ],
])(
  "of a database that is %s it is said what to do, and its inbox is looked into only if it takes writes",
  async (_what, options, said) => {
    const of = await found(options);
    expect(of("database")).toEqual(said);
    expect(of("inbox")).toEqual(said.at(-1)?.startsWith("ok") ? ["ok Nothing is stuck."] : []);
    expect(of("disk")).toHaveLength(options?.environment === undefined ? 1 : 0);
  },
);

const LONG = "x".repeat(16);
const SEVERAL =
  "warning Several secrets are active. When receiver_secret_matches_total of the old one stands still for 15 h, the rotation is complete: remove it.";

test.each<[string, string[]]>([
  [LONG, ["ok One secret, whole."]],
  [
    LONG.slice(1),
    ["warning Secret 1 in SIGNING_SECRET has fewer than 16 characters: is it the whole of it?"],
  ],
  [`"${LONG}`, ["ok One secret, whole."]],
  [`${LONG},${LONG}y`, [SEVERAL]],
  [`${LONG}y,${LONG},${LONG}`, ["warning Secret 3 in SIGNING_SECRET is there twice.", SEVERAL]],
])("of the secrets %s it is said what is wrong with each", async (secret, said) => {
  expect((await found({ secret }))("secrets")).toEqual(said);
});

test("what waits too long, what died and what nobody wants is told of, by its handlers", async () => {
  const clock = movableClock();
  const receiver = await startTestReceiver({ clock });
  const { engine } = receiver;
  await engine.intake.accept([newEvent({ type: "dead" }), newEvent({ type: "odd" })]);
  const states = await workOff(engine, {
    handlers: [handler({ name: "pos", types: ["dead"] }), handler({ name: "crm", types: ["dead", "fresh"] })],
    handle: async ({ handler: name }) =>
      name === "pos" ? { kind: "dead", error: "hopeless" } : { kind: "done" },
  });
  expect(states).toMatchObject({ dead: 1, ignored: 1 });
  const stuck = [
    "warning inbox: 1 dead (pos): `inbox list --state dead` says why, `inbox requeue --state dead` tries them again.",
    "warning inbox: 1 ignored, which no handler wants: write one, then `inbox requeue --state ignored`.",
  ];
  await engine.intake.accept([newEvent({ type: "fresh" })]);
  clock.move(59 * 60_000);
  expect(await diagnose({ receiver })).toEqual(stuck);
  clock.move(2 * 60_000);
  expect(await diagnose({ receiver })).toEqual([
    ...stuck,
    "warning inbox: The oldest unfinished event is over an hour old: is a worker running, and do its handlers succeed?",
  ]);
});

test("free room is told in the unit that it names", async () => {
  const receiver = await startTestReceiver();
  const { bavail, bsize } = await statfs(dirname(receiver.config.databaseFile!));
  const findings = await examine({
    config: receiver.config,
    engine: receiver.engine,
    api: undefined,
    environment: {},
  });
  const { message = "" } = findings.find(({ check }) => check === "disk") ?? {};
  const mebibytes = Number(/^([0-9]+) MiB are free in /.exec(message)?.[1]);
  // Others write and delete meanwhile.
  expect(Math.abs(mebibytes / ((bavail * bsize) / 2 ** 20) - 1)).toBeLessThan(0.02);
  expect(findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
    "secrets ok",
    "database ok",
    "inbox ok",
    "disk ok",
    "api warning",
  ]);
});

import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startEndpoint } from "../helpers/endpoint.ts";
import { freePort } from "../helpers/free-port.ts";
import { startRawServer } from "../helpers/raw-server.ts";
import { startMutant, SECRET } from "../mutants/receiver.ts";
import { post } from "../receiver/helpers/events.ts";
import { startTestReceiver } from "../receiver/helpers/receiver.ts";
import { until } from "../receiver/helpers/until.ts";
import { run, startService } from "../simulator/commands/in-process.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { startCounts } from "../verify/failing.ts";
import { blockUnder, pageAt } from "./pages.ts";

/** docs/symptoms.md, followed with receivers that have what it describes: its commands have to find out. */
const PAGE = "docs/symptoms.md";

const withoutIds = (text: string): string => text.replaceAll(/evt_\w+/g, "evt_");

test("the signature never matches: explain names what the receiver did to the body", async () => {
  const folder = mkdtempSync(join(tmpdir(), "symptoms-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "body.json");
  const body = '{"id": "evt_1", "data": {"object": {"total": "310.00"}}}';
  writeFileSync(file, body);
  const header = (await run("sign", file, "--secret", SECRET)).out.trim().replace(/^.*?: /, "");
  let computed = "";
  const receiver = await startEndpoint((response, _, { body: arrived, t }) => {
    const parsed: unknown = JSON.parse(arrived.toString());
    computed = createHmac("sha256", SECRET)
      .update(`${String(t)}.${JSON.stringify(parsed)}`)
      .digest("hex");
    response.writeHead(401).end();
  });
  await fetch(receiver.url, { method: "POST", headers: { "X-Service-Signature": header }, body });

  const words = ["--header", header, "--secret", SECRET, "--computed", computed];
  const explained = await run("explain", file, ...words);
  expect(explained.code).toBe(1);
  expect(explained.out).toContain(blockUnder(PAGE, "The signature never matches", "text"));
});

test("it matches sometimes: verify says for which bytes it does not", async () => {
  const plant = { signedStrings: (t: string, body: Buffer) => [`${t}.${body.toString("latin1")}`] };
  const receiver = await startMutant(plant, Date.now);
  onTestFinished(() => receiver.close());
  const { code, out } = await run("verify", receiver.url, "--secret", SECRET, "--only", "raw-bytes");
  expect(code).toBe(1);
  expect(out).toMatch(/✗ raw-bytes +\d+ passed, [1-9]/);
});

describe("an event is handled twice", () => {
  test("since its URL is registered twice: one event has two deliveries", async () => {
    const { sim, simulator } = await startService();
    const receiver = await startEndpoint();
    for (const secret of ["whsec_a", "whsec_b"]) simulator.endpoints.add({ url: receiver.url, secret });
    const { events } = await simulator.emit("order.created");
    const { out } = await sim("deliveries", "list", "--event", events[0]?.id ?? "");
    expect(out.match(/^dlv_.*delivered/gm)).toHaveLength(2);
  });

  test("since it does not know it again: verify counts its effects", async () => {
    const start = await startCounts();
    const { url, observeUrl } = await start({ remember: () => true });
    const words = ["--secret", SECRET, "--observe", observeUrl, "--only", "effects.in-sequence"];
    const { code, out } = await run("verify", url, ...words);
    expect(code).toBe(1);
    for (const line of blockUnder(PAGE, "An event is handled twice", "text").trimEnd().split("\n")) {
      expect(withoutIds(out)).toContain(withoutIds(line));
    }
  });
});

describe("nothing arrives", () => {
  test("for none is registered, or none that selected the type", async () => {
    const { sim, simulator } = await startService();
    expect((await sim("endpoints", "list")).err).toContain("No endpoints.");
    simulator.endpoints.add({ url: "http://localhost:9/webhooks", eventTypes: ["order.created"] });
    await simulator.emit("call.completed");
    expect((await sim("endpoints", "list")).out).toMatch(/ order\.created /);
    expect((await sim("deliveries", "list")).out).not.toContain("dlv_");
  });

  test("or it does, and the result of the delivery says how it went", async () => {
    const { sim, simulator } = await startService({ answerTimeoutMs: 3_000 });
    const secured = await startRawServer(() => undefined, { tls: {} });
    const said = new Map<string, string>([
      ["refused", `http://127.0.0.1:${String(await freePort())}/webhooks`],
      ["dns", "https://hooks.example.invalid/webhooks"],
      ["tls", `${secured.tlsUrl}webhooks`],
    ]);
    for (const status of [404, 401, 302]) said.set(String(status), (await startEndpoint(status)).url);
    said.set("timeout", (await startEndpoint(() => undefined)).url);
    const added = [...said].map(([word, url]) => ({ word, ...simulator.endpoints.add({ url }) }));
    const whys = new Set<string>();
    for (const { id } of added) await sim("endpoints", "test", id);
    await simulator.deliveries.settled();
    for (const { word, id } of added) {
      expect((await sim("deliveries", "list", "--endpoint", id)).out).toMatch(
        new RegExp(`attempting +1 +${word} `),
      );
      expect(pageAt(PAGE)).toContain(word === "302" ? "- a 3xx: " : `\`${word}\``);
      const [delivery] = simulator.deliveries.list({ endpointId: id });
      const { out } = await sim("deliveries", "show", delivery?.id ?? "");
      expect(out).toContain(`${id}  ${said.get(word) ?? ""}\n`);
      whys.add(out.trimEnd().split("\n").at(-1) ?? "");
    }
    // Each has a sentence of its own that says what to do.
    expect(whys.size).toBe(said.size);
    expect([...whys].filter((why) => !/^[A-Z].{30,}\.$/.test(why))).toEqual([]);
  });
});

test("it arrives, and nothing happens: the inbox says of which event and why", async () => {
  const receiver = await startTestReceiver({ environment: { RECEIVER_ROLE: "all" } });
  const id = "evt_0f39808ef71f3907cf5e92573c33e5ea";
  const event = {
    id,
    type: "order.pondered",
    created: 1,
    api_version: "v1",
    data: { object: {} },
    org_id: "org_1",
  };
  expect((await post(receiver.url, Buffer.from(JSON.stringify(event)))).status).toBe(200);
  await until(
    async () => receiver.store.ledger.find(id),
    (found) => found?.state === "ignored",
  );
  const environment = {
    DATABASE_URL: `sqlite:${receiver.config.databaseFile}`,
    SIGNING_SECRET: "whsec_any",
  };
  const listed = await runReceiver(["inbox", "list", "--limit", "20"], environment);
  expect(listed.out).toMatch(new RegExp(`^ignored .* ${id} `));
  const shown = await runReceiver(["inbox", "show", id], environment);
  expect(JSON.parse(shown.out)).toMatchObject({ state: "ignored", jobs: [] });
});

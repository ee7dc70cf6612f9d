import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/compose.ts";
import { startService, type Json } from "../../helpers/service.ts";
import { emitOne, register } from "../../helpers/simulator.ts";
import { run } from "./in-process.ts";

/** What a command prints for people, held against what the same command prints for programs. */

type Send = NonNullable<SimulatorOptions["send"]>;

const OUTCOMES: Record<string, Awaited<ReturnType<Send>>["outcome"]> = {
  "/takes": { status: 204 },
  "/fails": { status: 503 },
  "/refuses": { error: "refused", detail: "nobody listens" },
};

/** A service in which things are in every state: delivered, dead, waiting, under way, of an endpoint that is gone. */
async function startVaried() {
  const held = Promise.withResolvers<Awaited<ReturnType<Send>>>();
  let made = 0;
  const seen = new Set<string>();
  const send: Send = ({ url, body, signal }) => {
    made += 1;
    const durationMs = 100 + made;
    const key = `${url} ${body.toString()}`;
    const isAgain = seen.has(key);
    seen.add(key);
    signal.addEventListener("abort", () => held.resolve({ outcome: { error: "interrupted" }, durationMs }));
    const { pathname } = new URL(url);
    // A retry ends otherwise than the first attempt.
    const outcome = isAgain && pathname === "/fails" ? { status: 500 } : OUTCOMES[pathname];
    return outcome === undefined ? held.promise : Promise.resolve({ outcome, durationMs });
  };
  const { ask, simulator, url } = await startService({ clock: "manual", calls: 0, send });
  const [first] = simulator.world.organizations();
  register(simulator, "http://localhost:9/takes", { orgId: first?.organization.id ?? null });
  const fails = register(simulator, "http://localhost:9/fails", {
    eventTypes: ["order.created", "call.completed"],
  });
  register(simulator, "http://localhost:9/refuses", { faults: [{ name: "duplicate" }, { name: "delay" }] });
  emitOne(simulator, "order.created");
  await simulator.clock.advance(200_000);
  await ask("POST", "/events", { type: "call.completed", count: 2 });
  await simulator.clock.advance(100);
  register(simulator, "http://localhost:9/held", { eventTypes: ["booking.created"] });
  emitOne(simulator, "booking.created");
  await expect.poll(() => simulator.deliveries.page({ limit: 1 }).deliveries[0]?.nextAttemptAtMs).toBeNull();
  const told = async (...words: string[]) => {
    const text = await run(...words, "--simulator", url);
    const json = await run(...words, "--json", "--simulator", url);
    expect({ words, codes: [text.code, json.code], err: json.err }).toEqual({
      words,
      codes: [0, 0],
      err: "",
    });
    return { rows: text.out.trimEnd().split("\n").map(cells), err: text.err, json: json.json<Json>() };
  };
  return { ask, told, simulator, fails };
}

/** The cells of a line; no cell of ours has two spaces in it but the one of a result with its words. */
const cells = (line: string): string[] => line.trim().split(/ {2,}/);
/** A row as it is printed: what is empty in it leaves no cell. */
const printed = (row: unknown[]): string[] => row.map(String).filter((cell) => cell !== "");
const time = (iso: unknown): string => (typeof iso === "string" ? iso.slice(0, 19).replace("T", " ") : "");
const result = (attempt: Json | undefined): string => {
  if (attempt === undefined) return "";
  const { http_status: status, error } = attempt;
  return typeof status === "number" ? String(status) : typeof error === "string" ? error : "under way";
};

test("of endpoints: their address, selection, failures and faults, in a list and by themselves", async () => {
  const { told, simulator } = await startVaried();
  const { rows, json } = await told("endpoints");
  const failures = (one: Json) =>
    `${one["flagged"] === true ? "flagged, " : ""}${String(one["consecutive_failures"])} in a row`;
  const types = (one: Json) => (one["event_types"] as string[]).join(", ") || "all";
  const faults = (one: Json) => (one["faults"] as string[]).join(" ");
  const all = json.data ?? [];
  expect(rows.slice(1)).toEqual(
    all.map((one) => printed([one["id"], one["url"], types(one), failures(one), faults(one)])),
  );
  expect(all.map(failures)).toEqual([
    "0 in a row",
    "flagged, 10 in a row",
    "flagged, 20 in a row",
    "0 in a row",
  ]);
  for (const one of all) {
    const id = String(one["id"]);
    const found = simulator.endpoints.find(id);
    expect((await told("endpoints", "show", id)).rows).toEqual([
      ["Endpoint", id],
      ["URL", found?.url],
      ["Events", types(one)],
      ["Organization", found?.orgId ?? "all"],
      ["Secret", "too short to show its end"],
      ["Failures", failures(one)],
      ["Faults", faults(one) || "none"],
    ]);
  }
});

test("of events: type, organization, origin and schedule time, and each delivery with how it went last", async () => {
  const { told, simulator, ask } = await startVaried();
  await ask("POST", `/endpoints/${simulator.endpoints.list()[0]?.id ?? ""}/test`, {});
  await expect
    .poll(() => simulator.deliveries.page({ limit: 1 }).deliveries[0]?.attempts[0]?.endedAtMs)
    .toEqual(expect.any(Number));
  const { rows, json } = await told("events");
  expect(rows.slice(1)).toEqual(
    (json.data ?? []).map((one) =>
      printed([one["id"], one["type"], one["org_id"], one["origin"], time(one["created_at"])]),
    ),
  );
  expect(json.data?.map(({ origin }) => origin)).toEqual([
    "test",
    "trigger",
    "trigger",
    "trigger",
    "trigger",
  ]);
  for (const { id } of json.data ?? []) {
    const { err, json: shown } = await told("events", "show", String(id));
    const deliveries = shown["deliveries"] as Json[];
    const last = ({ attempts }: Json) => attempts?.at(-1);
    expect(err.split("\n").slice(0, deliveries.length).map(cells)).toEqual(
      deliveries.map((one) =>
        printed([one["id"], one["state"], last(one)?.["http_status"] ?? last(one)?.["error"] ?? ""]),
      ),
    );
  }
});

test("of deliveries: state, attempts, how the last one ended and when the next is due, and each attempt by itself", async () => {
  const { told, ask, fails } = await startVaried();
  await ask("DELETE", `/endpoints/${fails.id}`);
  const { rows, json } = await told("deliveries", "--limit", "50");
  const all = json.data ?? [];
  expect(rows.slice(1)).toEqual(
    all.map((one) =>
      printed([
        one["id"],
        one["event_id"],
        one["event_type"],
        one["endpoint_id"],
        one["state"],
        one.attempts?.length,
        result(one.attempts?.at(-1)),
        time(one["next_attempt_at"]),
      ]),
    ),
  );
  expect(new Set(all.map(({ state }) => state))).toEqual(new Set(["attempting", "delivered", "dead"]));
  expect(all.filter(({ attempts }) => result(attempts?.at(-1)) === "under way")).toHaveLength(1);
  for (const one of all) {
    const { rows: shown, json: detail } = await told("deliveries", "show", String(one["id"]));
    const due = one["next_attempt_at"];
    const verdict = detail["verdict"] as { sentence: string; why: string | null };
    expect(shown).toEqual([
      ["Delivery", one["id"]],
      ["Event", one["event_id"], one["event_type"]],
      ["Endpoint", one["endpoint_id"], detail["url"] ?? "deleted"],
      ["State", one["state"]],
      ["Verdict", verdict.sentence],
      ...(due === null ? [] : [["Next", `${time(due)} of schedule time`]]),
      [""],
      ["#", "STARTED (schedule)", "TOOK", "RESULT"],
      ...(detail.attempts ?? []).map((attempt) =>
        printed([
          attempt["number"],
          time(attempt["started_at"]),
          attempt["duration_ms"] === null ? "" : `${Number(attempt["duration_ms"])} ms`,
          result(attempt),
          attempt["error_detail"] ?? "",
        ]),
      ),
      ...(verdict.why === null ? [] : [[""], [verdict.why]]),
    ]);
  }
});

test("of the clock: mode, schedule time, what is due next and the counts", async () => {
  const { told } = await startVaried();
  for (const words of ["show", "mode manual"]) {
    const { rows, json } = await told("clock", ...words.split(" "));
    const counts = json["deliveries"] as Record<string, number>;
    expect(rows.map(([name]) => name)).toEqual(["Mode", "Schedule time", "Next attempt", "Deliveries"]);
    expect(rows.map(([, value]) => value)).toEqual([
      json["mode"],
      time(json["now"]),
      time(json["next_attempt_at"]),
      Object.entries(counts)
        .map(([state, count]) => `${count} ${state}`)
        .join(", "),
    ]);
  }
});

test.each([
  ["of one", ["order.created"], [["[204]", "[503]", "later"]]],
  ["of several", ["call.completed", "--count", "3"], [["First attempts: 3 × 204, 3 × 503, 6 × later"]]],
])("of what was set off: how the first attempts %s ended", async (_, words, expected) => {
  const { told, simulator } = await startVaried();
  for (const { id, url } of simulator.endpoints.list())
    if (url.endsWith("/takes")) simulator.endpoints.change(id, { orgId: null });
  const { rows, json } = await told("trigger", ...words);
  const lines = rows.map((row) => row.join("  ")).filter((line) => !/evt_/.test(line));
  const results = lines.map((line) => /^\[(?:204|503)\]|^\[later\]|^First.*/.exec(line)?.[0] ?? line);
  const wanted = expected.flat().map((word) => (word === "later" ? "[later]" : word));
  expect([...new Set(results)]).toEqual(wanted);
  const deliveries = json["deliveries"] as Json[];
  // The clock stands still: the same thing a second time is due at the same time.
  const due = (state: string) =>
    deliveries
      .filter((one) => result(one.attempts?.[0]) === state)
      .map((one) => `[${String(one["endpoint_id"])}]; next at ${time(one["next_attempt_at"])}`);
  const shown = (state: string) => lines.filter((line) => line.startsWith(`[${state}]`));
  const isMany = lines.length === 1;
  expect(shown("503").map((line) => line.replace(/ attempt 1, \d+ ms/, ""))).toEqual(
    isMany ? [] : due("503").map((when) => `[503] POST http://localhost:9/fails ${when}`),
  );
  expect(shown("later")).toEqual(
    isMany ? [] : due("").map((when) => `[later] POST http://localhost:9/refuses ${when}`),
  );
  expect(deliveries.map((one) => result(one.attempts?.[0]))).toEqual(
    expect.arrayContaining(["204", "503", ""]),
  );
});

test.each(["events", "deliveries"])(
  "of %s the newest twenty are listed, or as many as are asked for",
  async (what) => {
    const send: Send = () => Promise.resolve({ outcome: { status: 200 }, durationMs: 1 });
    const { ask, simulator, url } = await startService({ clock: "manual", calls: 0, send });
    register(simulator, "http://localhost:9/");
    await ask("POST", "/events", { type: "call.completed", count: 30 });
    await simulator.settled();
    const whole = (await ask("GET", `/${what}`)).body.data?.map(({ id }) => id) ?? [];
    expect(whole).toHaveLength(30);
    for (const [words, count] of [
      [[], 20],
      [["--limit", "1"], 1],
      [["--limit", "29"], 29],
      [["--limit", "1000"], 30],
    ] as const) {
      const told = (await run(what, ...words, "--json", "--simulator", url)).json<Json>();
      expect(told.data?.map(({ id }) => id)).toEqual(whole.slice(0, count));
      const { out } = await run(what, ...words, "--simulator", url);
      expect(out.trimEnd().split("\n")).toHaveLength(1 + count);
    }
    for (const limit of ["0", "1001", "x"])
      expect((await run(what, "--limit", limit, "--simulator", url)).code, limit).toBe(2);
  },
);

test("of more deliveries than one page has, the first attempt of each is waited for and counted", async () => {
  const send: Send = ({ url }) =>
    Promise.resolve({ outcome: { status: url.endsWith("/a") ? 200 : 503 }, durationMs: 1 });
  const { simulator, url } = await startService({ clock: "manual", calls: 0, concurrency: 1_000, send });
  for (const path of ["a", "b"]) register(simulator, `http://localhost:9/${path}`);
  const { out, code } = await run("trigger", "call.completed", "--count", "501", "--simulator", url);
  const lines = out.trimEnd().split("\n");
  expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 22 });
  expect(lines.slice(0, 20).every((line) => /^call\.completed {2}evt_[0-9a-f]{32}$/.test(line))).toBe(true);
  expect(lines.slice(20)).toEqual(["… and 481 more", "First attempts: 501 × 200, 501 × 503"]);
});

import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/compose.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register, resend } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";
import { pairsOf, walk } from "./pairs.ts";

/** Any two filters of deliveries together, against what the whole list without a filter says. */

/** What the whole list shows of one delivery, as far as filters ask for it. */
type Shown = {
  id: string;
  event_id: string;
  event_type: string;
  endpoint_id: string;
  state: string;
  created_at: string;
  verdict: { result: string };
  attempts: { http_status: number | null }[];
};

type Filter = { name: string; value: string; fits: (delivery: Shown, all: readonly Shown[]) => boolean };

const HOUR_MS = 3_600_000;

/**
 * Deliveries in every state, of three types, to three endpoints of which one is gone, two hours apart and some of them
 * sent again. `look` says how late each look at the monotonic clock is: a search that has looked for too long gives way.
 */
async function startVaried(look = (): number => 0) {
  const sendOne: SimulatorOptions["send"] = async ({ url }) => {
    if (url.endsWith("/good")) return { outcome: { status: 200 }, durationMs: 1 };
    return { outcome: url.endsWith("/away") ? { error: "refused" } : { status: 503 }, durationMs: 1 };
  };
  const wall = { ...systemTime, monotonicMs: () => systemTime.monotonicMs() + look() };
  const service = await startService({ clock: "manual", send: sendOne, wall });
  const { simulator, ask } = service;
  const [good, , away] = ["good", "bad", "away"].map((name) =>
    register(simulator, `http://localhost:9/${name}`),
  );
  emit(simulator, "call.completed");
  emit(simulator, "order.created");
  await simulator.clock.advance(86_400);
  const failed = emit(simulator, "order.created");
  await simulator.clock.advance(86_400);
  for (const id of failed) resend(simulator, id);
  await simulator.clock.advance(2 * 3_600);
  await ask("DELETE", `/endpoints/${away?.id ?? ""}`);
  emit(simulator, "voicemail.created");
  await simulator.settled();
  const { body } = await ask("GET", "/deliveries");
  const all = body.data as unknown as Shown[];
  return { ...service, all, good, away, middleMs: Date.parse(all[0]?.created_at ?? "") - HOUR_MS };
}

type Varied = Awaited<ReturnType<typeof startVaried>>;

function isLast(one: Shown, all: readonly Shown[]): boolean {
  const newer = all.slice(0, all.indexOf(one));
  return !newer.some((late) => late.event_id === one.event_id && late.endpoint_id === one.endpoint_id);
}

function filtersOf({ all, good, away, middleMs }: Varied): Filter[] {
  const middle = new Date(middleMs).toISOString();
  const isThere = ({ endpoint_id: id }: Shown) => id !== away?.id;
  const states: Record<string, Filter["fits"]> = {
    attempting: ({ state }) => state === "attempting",
    delivered: ({ state }) => state === "delivered",
    dead: ({ state }) => state === "dead",
    failed: ({ state, attempts }) => state === "dead" || (state === "attempting" && attempts.length > 0),
    lost: (one) => one.state === "dead" && isThere(one) && isLast(one, all),
  };
  const filter = (name: string, value: string, fits: Filter["fits"]): Filter => ({ name, value, fits });
  return [
    ...Object.entries(states).map(([value, fits]) => filter("state", value, fits)),
    filter("type", "order.created", ({ event_type: own }) => own === "order.created"),
    ...[good, away].map((endpoint) =>
      filter("endpoint_id", endpoint?.id ?? "", ({ endpoint_id: own }) => own === endpoint?.id),
    ),
    filter("event_id", all.at(-1)?.event_id ?? "", ({ event_id: own }) => own === all.at(-1)?.event_id),
    ...["ok", "not"].map((verdict) =>
      filter("verdict", verdict, ({ verdict: { result } }) => result === verdict),
    ),
    filter("status", "503", ({ attempts }) => attempts.some(({ http_status: status }) => status === 503)),
    filter("since", middle, ({ created_at: at }) => Date.parse(at) >= middleMs),
    filter("until", middle, ({ created_at: at }) => Date.parse(at) < middleMs),
    filter("q", "voicemail", ({ event_type: own }) => own === "voicemail.created"),
  ];
}

const byName = (filters: readonly Filter[]): Record<string, string> =>
  Object.fromEntries(filters.map(({ name, value }) => [name, value]));

test("two filters of a list of deliveries find what both find, page by page, however often a search gives way", async () => {
  const varied = await startVaried(stumbling());
  const { ask, all } = varied;
  for (const pair of pairsOf(filtersOf(varied))) {
    const expected = all.filter((one) => pair.every(({ fits }) => fits(one, all))).map(({ id }) => id);
    const found = await walk(ask, "/deliveries", byName(pair), 3);
    expect({ pair: byName(pair), found }).toEqual({ pair: byName(pair), found: expected });
  }
});

/** Adds 26 ms, which is more than a search may take, at every seventh look at the clock. */
function stumbling(): () => number {
  let looks = 0;
  return () => 26 * Math.floor((looks += 1) / 7);
}

test("two filters of a resend choose what both choose, as far as it was not sent again since", async () => {
  const varied = await startVaried();
  const { ask, all, away } = varied;
  const filters = filtersOf(varied).filter(({ name }) => name !== "event_id");
  for (const pair of [...filters.map((one) => [one]), ...pairsOf(filters)]) {
    const names = new Set(pair.map(({ name }) => name));
    // What gave up, unless it is said what is meant.
    const isMeant = ({ state }: Shown) => names.has("state") || names.has("verdict") || state === "dead";
    const chosen = all.filter(
      (one) =>
        isMeant(one) &&
        one.endpoint_id !== away?.id &&
        isLast(one, all) &&
        pair.every(({ fits }) => fits(one, all)),
    );
    const { body } = await ask("POST", "/deliveries/resend", { ...byName(pair), dry_run: true });
    expect({ pair: byName(pair), total: body.total }).toEqual({ pair: byName(pair), total: chosen.length });
  }
});

const OPTIONS: Record<string, string> = {
  state: "--state",
  type: "--type",
  endpoint_id: "--endpoint",
  event_id: "--event",
  q: "--text",
  since: "--since",
  until: "--until",
};

function optionsOf(filters: readonly Filter[]): string[] {
  return filters.flatMap(({ name, value }) => [OPTIONS[name] ?? "", value]);
}

test("the commands list and resend hand on any two of their options, with --limit and --dry-run beside them", async () => {
  const varied = await startVaried();
  const { ask, url } = varied;
  const all = filtersOf(varied);
  const filters = Object.keys(OPTIONS).flatMap((option) => all.find(({ name }) => name === option) ?? []);
  for (const pair of [...filters.map((one) => [one]), ...pairsOf(filters)]) {
    const asked = byName(pair);
    const goesWith = (...names: string[]) => pair.every(({ name }) => names.includes(name));
    const told = async (...words: string[]) =>
      (await run("deliveries", ...words, ...optionsOf(pair), "--simulator", url, "--json")).json<unknown>();
    const query = new URLSearchParams({ ...asked, limit: "2" }).toString();
    const comparisons = [
      ...(goesWith("state", "endpoint_id", "event_id")
        ? [[await told("list", "--limit", "2"), await ask("GET", `/deliveries?${query}`)] as const]
        : []),
      ...(goesWith("state", "type", "endpoint_id", "q", "since", "until")
        ? [
            [
              await told("resend", "--dry-run"),
              await ask("POST", "/deliveries/resend", { ...asked, dry_run: true }),
            ] as const,
          ]
        : []),
    ];
    for (const [command, { body }] of comparisons)
      expect({ asked, command }).toEqual({ asked, command: body });
  }
});

test.runIf(ALL)(
  "of more than a thousand, the oldest thousand are sent again, and the rest when it is said again",
  async () => {
    const send: SimulatorOptions["send"] = async () => ({ outcome: { status: 200 }, durationMs: 1 });
    const look = stumbling();
    const wall = { ...systemTime, monotonicMs: () => systemTime.monotonicMs() + look() };
    const { simulator, ask } = await startService({ clock: "manual", send, wall });
    register(simulator, "http://localhost:9/");
    const ids = emit(simulator, "call.completed", 1_003);
    await simulator.settled();
    await simulator.clock.advance(60);
    const again = async () => {
      const { body } = await ask("POST", "/deliveries/resend", { state: "delivered", until: "1s" });
      await simulator.settled();
      return { of: (body.data ?? []).map((sent) => sent["resend_of"]), has_more: body.has_more };
    };
    expect(await again()).toEqual({ of: ids.slice(3), has_more: true });
    expect(await again()).toEqual({ of: ids.slice(0, 3), has_more: false });
  },
);

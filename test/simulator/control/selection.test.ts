import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../../simulator/service/compose.ts";
import type { DeliveryShape } from "../../../simulator/domain/shapes.ts";
import { createDeliveryControl } from "../../../simulator/library/deliveries.ts";
import { createTools } from "../../../simulator/mcp/tools.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { sized } from "../../helpers/run/sizes.ts";
import { startService } from "../../helpers/service.ts";
import { emit, register, resend } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

/**
 * Deliveries in every state, of three types, to three endpoints of which one is deleted, in two periods, some of them
 * resent. Every seventh read of the clock is so late that a search pauses.
 */
async function startVaried() {
  let looks = 0;
  const wall = {
    ...systemTime,
    monotonicMs: () => systemTime.monotonicMs() + 26 * Math.floor((looks += 1) / 7),
  };
  const send: SimulatorOptions["send"] = async ({ url }) => {
    if (url.endsWith("/good")) return { outcome: { status: 200 }, durationMs: 1 };
    return { outcome: url.endsWith("/away") ? { error: "refused" } : { status: 503 }, durationMs: 1 };
  };
  const service = await startService({ clock: "manual", send, wall });
  const { simulator, ask } = service;
  const endpoints = ["good", "bad", "away"].map((name) => register(simulator, `http://localhost:9/${name}`));
  emit(simulator, "call.completed");
  emit(simulator, "order.created");
  await simulator.clock.advance(86_400);
  const failed = emit(simulator, "order.created");
  await simulator.clock.advance(86_400);
  for (const id of failed) resend(simulator, id);
  await simulator.clock.advance(2 * 3_600);
  const away = endpoints[2]!.id;
  await ask("DELETE", `/endpoints/${away}`);
  emit(simulator, "voicemail.created");
  await simulator.settled();
  const all = (await ask("GET", "/deliveries")).body.data as unknown as DeliveryShape[];
  return { ...service, all, away };
}

type Varied = Awaited<ReturnType<typeof startVaried>>;

function isLast(one: DeliveryShape, all: readonly DeliveryShape[]): boolean {
  const newer = all.slice(0, all.indexOf(one));
  return !newer.some((late) => late.event_id === one.event_id && late.endpoint_id === one.endpoint_id);
}

/** The meaning of each field of a selection, computed from the whole list. */
function meanings({ all, away }: Varied) {
  const states: Record<string, (one: DeliveryShape) => boolean> = {
    attempting: ({ state }) => state === "attempting",
    delivered: ({ state }) => state === "delivered",
    dead: ({ state }) => state === "dead",
    failed: ({ state, attempts }) => state === "dead" || (state === "attempting" && attempts.length > 0),
    lost: (one) => one.state === "dead" && one.endpoint_id !== away && isLast(one, all),
  };
  const gaveUpAt = ({ state, attempts }: DeliveryShape) =>
    state === "dead" ? (attempts.at(-1)?.ended_at ?? "") : "";
  return {
    state: (one: DeliveryShape, state: string) => states[state]?.(one) === true,
    type: (one: DeliveryShape, type: string) => one.event_type === type,
    endpoint_id: (one: DeliveryShape, id: string) => one.endpoint_id === id,
    event_id: (one: DeliveryShape, id: string) => one.event_id === id,
    verdict: (one: DeliveryShape, verdict: string) => one.verdict.result === verdict,
    cause: (one: DeliveryShape, cause: string) => one.verdict.cause === cause,
    status: (one: DeliveryShape, status: string) =>
      one.attempts.some(({ http_status, error }) => String(http_status ?? error) === status),
    since: (one: DeliveryShape, moment: string) => one.created_at >= moment,
    until: (one: DeliveryShape, moment: string) => one.created_at < moment,
    gave_up_since: (one: DeliveryShape, moment: string) => gaveUpAt(one) >= moment,
    gave_up_until: (one: DeliveryShape, moment: string) => gaveUpAt(one) !== "" && gaveUpAt(one) < moment,
    q: (one: DeliveryShape, text: string) => one.event_type === text,
  };
}

const OPTIONS: Record<keyof ReturnType<typeof meanings>, string> = {
  state: "--state",
  type: "--type",
  endpoint_id: "--endpoint",
  event_id: "--event",
  verdict: "--verdict",
  cause: "--cause",
  status: "--status",
  since: "--since",
  until: "--until",
  gave_up_since: "--gave-up-since",
  gave_up_until: "--gave-up-until",
  q: "--text",
};

/** A field is used in one selection of five: with many fields at once nothing would match. */
function seldom(values: readonly string[]): fc.Arbitrary<string | undefined> {
  const absent = fc.constant(undefined);
  return fc.oneof({ weight: 4, arbitrary: absent }, { weight: 1, arbitrary: fc.constantFrom(...values) });
}

/** Selections of any fields, with values that some delivery has. */
function selections(all: readonly DeliveryShape[]) {
  const of = (value: (one: DeliveryShape) => string | null) => {
    const values = new Set(all.flatMap((one) => value(one) ?? []));
    return seldom([...values]);
  };
  const moments = of(({ created_at }) => created_at);
  const endings = of(({ attempts }) => attempts.at(-1)?.ended_at ?? null);
  return fc.record({
    state: seldom(["attempting", "delivered", "dead", "failed", "lost"]),
    type: of((one) => one.event_type),
    endpoint_id: of((one) => one.endpoint_id),
    event_id: of((one) => one.event_id),
    verdict: of((one) => one.verdict.result),
    cause: of((one) => one.verdict.cause),
    status: seldom(["503", "refused", "500"]),
    since: moments,
    until: moments,
    gave_up_since: endings,
    gave_up_until: endings,
    q: of((one) => one.event_type),
  });
}

const camel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

test("a selection finds the same in lists, counts, resends, the library, the commands and the tools", async () => {
  const varied = await startVaried();
  const { ask, all, away, simulator, url } = varied;
  const fits = meanings(varied);
  const library = createDeliveryControl(simulator);
  // oxlint-disable-next-line typescript/no-explicit-any -- a tool does not read the list
  const get = async (path: string): Promise<any> => (await ask("GET", path)).body;
  const [, tool] = createTools({ get, post: () => Promise.reject(new Error("It changes nothing.")) });
  const ids = (list: unknown) => (list as { id: string }[]).map(({ id }) => id);
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(selections(all), async (selection) => {
      const given = Object.entries(selection).flatMap(([name, value]) =>
        value === undefined ? [] : [[name as keyof typeof fits, value] as const],
      );
      const expected = all.filter((one) => given.every(([name, value]) => fits[name](one, value)));
      const query = new URLSearchParams(Object.fromEntries(given)).toString();
      const list = await ask("GET", `/deliveries?${query}`);
      expect(ids(list.body.data)).toEqual(ids(expected));
      expect((await ask("GET", `/counts?${query}`)).body["total"]).toBe(expected.length);
      const inCamel = Object.fromEntries(given.map(([name, value]) => [camel(name), value]));
      expect(ids(library.list(inCamel))).toEqual(ids(expected));
      const sent = expected.filter((one) => one.endpoint_id !== away && isLast(one, all));
      const dry = await ask("POST", "/deliveries/resend", {
        // A resend without a selection is refused.
        since: new Date(0).toISOString(),
        ...Object.fromEntries(given),
        dry_run: true,
      });
      expect(dry).toMatchObject({ status: 200, body: { object: "count", total: sent.length } });
      if ((asked += 1) % 10 > 0) return;
      const options = given.flatMap(([name, value]) => [OPTIONS[name], value]);
      const shell = await run("deliveries", ...options, "--simulator", url, "--json");
      expect(ids(shell.json<{ data: unknown }>().data)).toEqual(ids(expected));
      const answer = await tool!.run({ ...Object.fromEntries(given), limit: 5 });
      expect(ids((JSON.parse(answer.content[0]!.text) as { data: unknown }).data)).toEqual(
        ids(expected).slice(0, 5),
      );
    }),
    { numRuns: sized("SELECTIONS", { quick: 100, all: 500 }) },
  );
});

import { expect, test } from "vitest";
import { startService } from "../../helpers/service.ts";
import { register } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

/** What any options of `endpoints add` and `endpoints change` together make of an endpoint, and what they leave. */

type Setting = [words: string[], becomes: Record<string, unknown>];

/** Each option by itself; of those in one list one alone is given. */
const settings = (orgId: string): Setting[][] => [
  [[["--events", "order.created"], { event_types: ["order.created"] }]],
  [[["--org", orgId], { org_id: orgId }]],
  [[["--fault", "delay", "--fault", "drop-answer:2"], { faults: ["delay", "drop-answer:2"] }]],
];

const CHANGED: Setting[][] = [[[["--url", "http://localhost:9/other"], { url: "http://localhost:9/other" }]]];

/** One of each list, or none. */
function choicesOf(lists: readonly Setting[][]): Setting[][] {
  const [first, ...others] = lists;
  if (first === undefined) return [[]];
  const more = choicesOf(others);
  return [...more, ...first.flatMap((one) => more.map((chosen) => [one, ...chosen]))];
}

test("endpoints change sets what its options name together, and leaves the rest", async () => {
  const { simulator, ask, url } = await startService();
  const [first, second] = simulator.world.organizations().map(({ organization }) => organization.id);
  const [events = [], org = [], faults = []] = settings(second ?? "");
  const lists = [
    ...CHANGED,
    [...events, [["--events", ""], { event_types: [] }] satisfies Setting],
    org,
    [...faults, [["--no-faults"], { faults: [] }] satisfies Setting],
  ];
  for (const chosen of choicesOf(lists)) {
    const { id } = register(simulator, "http://localhost:9/webhooks", {
      orgId: first ?? null,
      eventTypes: ["call.completed"],
      faults: [{ name: "reorder" }],
    });
    const { body: before } = await ask("GET", `/endpoints/${id}`);
    const words = chosen.flatMap(([one]) => one);
    const { code } = await run("endpoints", "change", id, ...words, "--simulator", url);
    const { body: after } = await ask("GET", `/endpoints/${id}`);
    const expected = Object.assign({}, before, ...chosen.map(([, becomes]) => becomes)) as unknown;
    expect({ words, code, after }).toEqual({ words, code: 0, after: expected });
  }
});

test("endpoints add makes what its options say together, and the usual of the rest", async () => {
  const { simulator, ask, url } = await startService();
  const [, orgId = ""] = simulator.world.organizations().map(({ organization }) => organization.id);
  const secret: Setting = [["--secret", "whsec_of_my_own_1234"], { secret_last4: "1234" }];
  for (const chosen of choicesOf([...settings(orgId), [secret]])) {
    const words = chosen.flatMap(([one]) => one);
    const added = await run(
      "endpoints",
      "add",
      "http://localhost:9/new",
      ...words,
      "--json",
      "--simulator",
      url,
    );
    const { body } = await ask("GET", "/endpoints");
    const usual = { event_types: [], org_id: null, faults: [], flagged: false, consecutive_failures: 0 };
    const expected = Object.assign({}, usual, ...chosen.map(([, becomes]) => becomes)) as object;
    expect(added.code).toBe(0);
    expect(body.data?.at(-1)).toMatchObject({ ...expected, url: "http://localhost:9/new" });
    expect(added.json()).toMatchObject({ ...body.data?.at(-1) });
  }
});

test("endpoints rotate takes a secret and an overlap together, and the usual of either", async () => {
  const { simulator, ask, url } = await startService({ clock: "manual" });
  const secret: Setting = [["--secret", "whsec_of_my_own_1234"], { secret_last4: "1234" }];
  for (const [overlap, seconds] of [
    [[], 86_400],
    [["--overlap", "90m"], 5_400],
    [["--overlap", "0"], 0],
  ] as const) {
    for (const chosen of choicesOf([[secret]])) {
      const { id } = register(simulator, "http://localhost:9/webhooks", { secret: "whsec_the_first_5678" });
      const words = [...overlap, ...chosen.flatMap(([one]) => one)];
      expect(await run("endpoints", "rotate", id, ...words, "--simulator", url)).toMatchObject({ code: 0 });
      expect((await ask("GET", `/endpoints/${id}`)).body).toMatchObject({
        previous_secret_last4: "5678",
        previous_secret_until: new Date(simulator.clock.now() + seconds * 1_000).toISOString(),
        ...chosen[0]?.[1],
      });
    }
  }
});

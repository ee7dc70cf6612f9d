import { expect, test } from "vitest";
import type { z } from "zod";
import type { SimulatorOptions } from "../../../simulator/compose.ts";
import { STATE_WORDS, type StateWord } from "../../../simulator/domain/outcome.ts";
import { createDeliveryControl } from "../../../simulator/library/deliveries.ts";
import { createTools } from "../../../simulator/mcp/tools.ts";
import { startService } from "../../helpers/service.ts";
import { emitOne, nextEntry, register, resend } from "../../helpers/simulator.ts";
import { run } from "../commands/in-process.ts";

const idsOf = (list: unknown) => (list as { id: string }[]).map(({ id }) => id).toSorted();

test("each word for a state finds the same deliveries in the API, the commands, the library and the tools", async () => {
  let answer: ReturnType<NonNullable<SimulatorOptions["send"]>>;
  const answers = (status: number) => void (answer = Promise.resolve({ outcome: { status }, durationMs: 1 }));
  const { ask, simulator, url } = await startService({ clock: "manual", send: () => answer });
  register(simulator, "http://localhost:1/");
  answers(500);
  const [recovered, lost] = [emitOne(simulator), emitOne(simulator)];
  await simulator.clock.advance(86_400);
  answers(200);
  const again = resend(simulator, recovered);
  await simulator.settled();
  answers(500);
  const failing = emitOne(simulator);
  await simulator.settled();
  const { promise, resolve } = Promise.withResolvers<Awaited<typeof answer>>();
  answer = promise;
  const begun = nextEntry(simulator, ({ kind }) => kind === "attempt.started");
  const underWay = emitOne(simulator);
  await begun;

  const get = async <Schema extends z.ZodType>(path: string, schema: Schema) =>
    schema.parse((await ask("GET", path)).body);
  const [, tool] = createTools({ get, post: () => Promise.reject(new Error("It changes nothing.")) });
  const finds: Record<StateWord, string[]> = {
    attempting: [failing, underWay],
    delivered: [again],
    dead: [recovered, lost],
    // What is tried for the first time has not failed yet.
    failed: [recovered, lost, failing],
    lost: [lost],
  };
  for (const state of STATE_WORDS) {
    const found = finds[state].toSorted();
    expect(idsOf((await ask("GET", `/deliveries?state=${state}`)).body.data), state).toEqual(found);
    expect(idsOf(createDeliveryControl(simulator).list({ state })), state).toEqual(found);
    const told = await tool!.run({ state });
    expect(idsOf((JSON.parse(told.content[0]!.text) as { data: unknown }).data), state).toEqual(found);
    const { json } = await run("deliveries", "--state", state, "--simulator", url, "--json");
    expect(idsOf(json<{ data: unknown }>().data), state).toEqual(found);
  }
  resolve({ outcome: { status: 200 }, durationMs: 1 });
  await simulator.settled();
});

import { z } from "zod";
import { defineHandler, type HandlerContext } from "../../../receiver/work/handler.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { bench as openBench } from "../helpers/bench.ts";
import { newEventId } from "../helpers/events.ts";

type Behave = (context: HandlerContext) => unknown;
type Policies = Partial<Parameters<typeof defineHandler>[0]> & { object?: z.ZodType };

/** A bench with one handler, named "known", and one event for it. */
export const bench = async (behave: Behave) => benchWith({}, behave);
export async function benchWith(options: Policies & Parameters<typeof openBench>[1], behave: Behave) {
  const contexts: HandlerContext[] = [];
  const { object = z.unknown(), maxAttempts, timeoutSeconds, ...given } = options;
  const handler = defineHandler({
    name: "known",
    type: "call.completed",
    migrations: ["CREATE TABLE effects (id TEXT)"],
    object,
    maxAttempts,
    timeoutSeconds,
    handle: async (_event, context) => {
      contexts.push(context);
      await behave(context);
    },
  });
  const event = sampleEnvelope("call.completed", { id: newEventId() });
  const opened = await openBench(handler, given);
  const [run, job] = [async () => opened.run(event), async () => opened.job(event.id)];
  return { ...opened, contexts, event, run, job };
}

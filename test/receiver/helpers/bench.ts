import { onTestFinished } from "vitest";
import { createHandlerBench, type HandlerBench } from "../../../receiver/work/handler-bench.ts";

/** A bench that is closed when its test is over. */
export async function bench(...of: Parameters<typeof createHandlerBench>): Promise<HandlerBench> {
  const made = await createHandlerBench(...of);
  onTestFinished(made.close);
  return made;
}

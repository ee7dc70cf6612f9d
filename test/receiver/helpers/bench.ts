import { onTestFinished } from "vitest";
import { createHandlerBench, type HandlerBench } from "../../../receiver/work/bench.ts";

/** A bench that is closed when its test is over. */
export async function bench(...of: Parameters<typeof createHandlerBench>): Promise<HandlerBench> {
  const created = await createHandlerBench(...of);
  onTestFinished(created.close);
  return created;
}

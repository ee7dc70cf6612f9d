import { systemClock } from "../clock.ts";
import type { ComposeOptions } from "../compose.ts";
import { openEngine } from "../engines/open.ts";
import type { Handler } from "../work/handler.ts";
import { startWorking } from "../work/loop.ts";

/**
 * Handles jobs in this process, for an app that gives its handlers as an array. A handler that blocks, crashes or fills
 * the memory takes the app with it, and nothing replaces one that ignores its deadline.
 */
export function workHere(handlers: readonly Handler[]): NonNullable<ComposeOptions["startWork"]> {
  return async ({ config, log }, metrics) => {
    const engine = await openEngine({ ...config, clock: systemClock });
    const working = await startWorking({
      config,
      log,
      handlers,
      engine,
      onHandled: (handled) => metrics().handled([handled]),
      onStuck: ({ handler, id }) =>
        log.error(
          { handler, event_id: id },
          "a handler goes on past its deadline and ignores its signal; only the end of this process would end it",
        ),
    }).catch(async (error: unknown) => {
      await engine.close();
      throw error;
    });
    return { alive: () => true, wake: working.loop.wake, stop: working.stop };
  };
}

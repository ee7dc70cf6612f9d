import type { Config } from "../../config.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";
import { onEngine } from "./with-engine.ts";

/**
 * Begins a new work file where the old one is lost, once somebody has said what to think of the events in the inbox; and
 * goes on with what is left where the inbox has lost its newest events. Where nothing is lost it changes nothing.
 */
export async function recover(
  config: Config,
  options: { handleAgain?: boolean; considerHandled?: boolean },
  terminal: Terminal,
): Promise<number> {
  if ((options.handleAgain === true) === (options.considerHandled === true)) {
    terminal.complain(
      "say what to think of the stored events: --handle-again handles all of them once more, --consider-handled none.",
    );
    return EXIT.usage;
  }
  const whenLost = options.handleAgain === true ? "handle-again" : "consider-handled";
  return onEngine({ config, terminal, whenLost }, async ({ ledger }) => {
    const { byState } = await ledger.counts();
    terminal.print(`${String(byState.pending)} events are pending, ${String(byState.done)} done.`);
    return EXIT.ok;
  });
}

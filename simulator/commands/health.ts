import { Command } from "commander";
import { requestText } from "../sender/request-text.ts";
import { DEFAULT_SIMULATOR, THIS_SIMULATOR } from "../text/invocation.ts";
import { CommandError } from "./command-error.ts";
import { simulatorOption, simulatorUrl } from "./control-client.ts";
import { createOutput } from "./output.ts";

const LONGEST_MS = 4_000;
const MOST_BYTES = 1024 * 1024;

/** `health`, for the health checks of containers: 0 when a simulator answers, 3 when none does. It needs no token. */
export default function healthCommand(): Command {
  return new Command("health")
    .description("whether a simulator answers, for the health checks of containers")
    .addOption(simulatorOption().default(DEFAULT_SIMULATOR))
    .option("--json", "print JSON")
    .action(async (flags: { simulator: string; json?: boolean }) => {
      const output = createOutput(flags);
      if (!(await isSimulatorAt(flags.simulator, LONGEST_MS)))
        throw new CommandError(`No simulator answers at ${flags.simulator}.`);
      output.value({ object: "health", ready: true });
      output.line("ready");
    });
}

export function isSimulatorAt(simulator: string, withinMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(withinMs);
  const asked = { headers: {}, signal, mostBytes: MOST_BYTES };
  return requestText(simulatorUrl(simulator, "/openapi.json"), asked).then(
    ({ status, text }) => status === 200 && text.includes(THIS_SIMULATOR),
    () => false,
  );
}

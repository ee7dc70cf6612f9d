import { randomBytes } from "node:crypto";
import { listen } from "../service/server.ts";
import { createSimulator } from "../service/simulator.ts";
import { CommandError } from "./command-error.ts";
import { simulatorOptions, type ServeFlags } from "./serve-options.ts";

export type RunningSimulator = Awaited<ReturnType<typeof startSimulatorForCommand>>;

export async function startSimulatorForCommand(flags: ServeFlags) {
  const created = createSimulator(simulatorOptions(flags));
  if (!created.ok) throw new CommandError(created.message);
  const { simulator } = created;
  const { origin } = simulator.world;
  if (flags.calls !== undefined && flags.calls !== origin.calls)
    process.stderr.write(
      `--calls ${flags.calls} has no effect: ${flags.data} was begun with ${origin.calls}. Leave it out, or use another --data file.\n`,
    );

  const token = isLoopback(flags.host) ? undefined : (flags.token ?? randomBytes(16).toString("hex"));
  const onError = (error: unknown) =>
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  const listening = await listen(simulator, { port: flags.port, host: flags.host, onError, token });
  if (!listening.ok) {
    await simulator.close();
    throw new CommandError(listening.message);
  }
  const { server } = listening;
  simulator.traffic.set(flags.traffic);

  return {
    simulator,
    server,
    /** The token of the dashboard and the control API when bound wider than loopback. */
    token,
    async close(): Promise<void> {
      await server.close();
      await simulator.close();
    },
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

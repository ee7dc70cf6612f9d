import { setImmediate } from "node:timers/promises";
import { Command } from "commander";
import { createTools, answerProblem } from "../mcp/tools.ts";
import { VERSION } from "../processes/version.ts";
import { CommandError } from "./command-error.ts";
import {
  addSimulatorOptions,
  createControlClient,
  simulatorUrl,
  type SimulatorFlags,
} from "./control-client.ts";
import { untilAborted } from "../processes/until-aborted.ts";
import { interruptible } from "./interrupt.ts";
import { codeOf, messageOf } from "../text/errors.ts";

/** `mcp`: the control API's verbs for developers' assistants, over standard input and output, until the input ends. */
export default function mcpCommand(): Command {
  return addSimulatorOptions(new Command("mcp"))
    .description("serve a running simulator to a developer's assistant: Model Context Protocol over stdio")
    .action(async (flags: SimulatorFlags) => {
      // Reports a mistake in the configuration at the start.
      simulatorUrl(flags.simulator, "/");
      const { McpServer, StdioServerTransport } = await loadSdk();
      const server = new McpServer({ name: "voice-agent-simulator", version: VERSION });
      const underWay = new Set<Promise<unknown>>();
      for (const { name, description, input, run } of createTools(createControlClient(flags))) {
        server.registerTool(name, { description, inputSchema: input }, (given: unknown) => {
          const answer = run(given).catch((error: unknown) => answerProblem(messageOf(error), flags.token));
          underWay.add(answer);
          return answer.finally(() => underWay.delete(answer));
        });
      }
      const ended = Promise.withResolvers<void>();
      for (const event of ["end", "close"]) process.stdin.once(event, () => ended.resolve());
      await server.connect(new StdioServerTransport());
      // What was asked before the end is answered: the SDK begins a call, and writes its answer, within a turn.
      const answered = ended.promise.then(() => setImmediate()).then(() => Promise.all(underWay));
      await interruptible((signal) => Promise.race([answered, untilAborted(signal)]));
      await setImmediate();
      await server.close();
      // An open input would keep the process running.
      process.stdin.destroy();
    });
}

/** The official SDK is an optional dependency, since it installs a hundred packages that only assistants need. */
async function loadSdk() {
  try {
    const server = await import("@modelcontextprotocol/sdk/server/mcp.js");
    return { ...server, ...(await import("@modelcontextprotocol/sdk/server/stdio.js")) };
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new CommandError(
      "mcp needs the package @modelcontextprotocol/sdk, which is not installed: npm install @modelcontextprotocol/sdk@1.32.2",
    );
  }
}

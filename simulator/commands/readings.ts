import { Command } from "commander";
import { z } from "zod";
import { listReadings, parseReadings } from "../domain/readings.ts";
import { orUsageError } from "./command-error.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { listOf, readingSchema } from "../domain/shapes.ts";
import { defaultCommand } from "./default-command.ts";
import { createOutput, type Output } from "./output.ts";
import { ourCommand } from "../text/invocation.ts";

export default function readingsCommand(): Command {
  const command = new Command("readings").description(
    "choices of the simulator where the specification is silent",
  );

  defaultCommand(command, "list")
    .description("every reading with its choices, its section and the reason for its default")
    .option("--json", "print JSON")
    .action((flags: { json?: boolean }) => {
      const output = createOutput(flags);
      const readings = listReadings();
      output.value({ object: "list", data: readings });
      for (const { name, choices, default: chosen, section, summary, reason } of readings) {
        const shown = choices.map((choice) => (choice === chosen ? `${choice} (default)` : choice));
        output.line(`${output.style("bold", name)}  ${shown.join(" | ")}`);
        output.line(`  ${summary}`);
        output.line(`  ${output.style("dim", `${section}. ${reason}`)}`);
      }
      output.note(`\nChoose another:  ${ourCommand("serve --reading limit_out_of_range=clamp")}`);
    });

  addSimulatorOptions(command.command("show"))
    .description("the choices of the running simulator")
    .action(async (flags: SimulatorFlags) => {
      const list = await createControlClient(flags).get("/readings", listOf(readingSchema));
      print(list, createOutput(flags));
    });

  addSimulatorOptions(command.command("set"))
    .description("change readings of the running simulator")
    .argument("<name=choice...>")
    .action(async (assignments: string[], flags: SimulatorFlags) => {
      orUsageError(parseReadings(assignments));
      const client = createControlClient(flags);
      const body = Object.fromEntries(
        assignments.map((assignment): [string, string] => {
          const [name = "", choice = ""] = assignment.split("=", 2);
          return [name.trim(), choice.trim()];
        }),
      );
      await client.patch("/readings", body, z.record(z.string(), z.string()));
      print(await client.get("/readings", listOf(readingSchema)), createOutput(flags));
    });

  return command;
}

function print(list: { data: z.infer<typeof readingSchema>[] }, output: Output): void {
  output.value(list);
  output.table(
    list.data.map(({ name, choice, default: usual }) => [
      name,
      choice === usual ? choice : output.style("yellow", `${choice} (default: ${usual})`),
    ]),
  );
}

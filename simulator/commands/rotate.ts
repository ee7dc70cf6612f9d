import { Option, type Command } from "commander";
import { OVERLAP_SECONDS } from "../domain/signing-secrets.ts";
import { addSimulatorOptions, createControlClient, type SimulatorFlags } from "./control-client.ts";
import { registeredSchema } from "./control-schemas.ts";
import { durationSeconds } from "./option-values.ts";
import { createOutput } from "./output.ts";
import { secretHint } from "./secret-option.ts";

type Flags = SimulatorFlags & { secret?: string; overlap: number };

/** Adds `endpoints rotate`: a new signing secret, beside which the old one goes on signing for a while. */
export function addRotateCommand(endpoints: Command): void {
  addSimulatorOptions(endpoints.command("rotate"))
    .description("give an endpoint a new signing secret, and print it; nothing shows it again")
    .argument("<id>")
    .option("--secret <secret>", "the new one; made up when absent")
    .addOption(
      new Option("--overlap <duration>", "how long the old one goes on signing, in schedule time")
        .argParser(durationSeconds)
        .default(OVERLAP_SECONDS, "24h"),
    )
    .action(async (id: string, flags: Flags) => {
      const output = createOutput({ json: flags.json === true });
      const body = { overlap_seconds: flags.overlap, secret: flags.secret };
      const path = `/endpoints/${encodeURIComponent(id)}/rotate`;
      const endpoint = await createControlClient(flags).post(path, body, registeredSchema);
      output.value(endpoint);
      output.table([
        ["Endpoint", endpoint.id],
        ["Secret", endpoint.secret],
        [
          "Before",
          `${secretHint(endpoint.previous_secret_last4)}, signs until ${endpoint.previous_secret_until}`,
        ],
      ]);
      output.note("\nThe secret is shown this once. A receiver takes both meanwhile: SIGNING_SECRET=NEW,OLD");
    });
}

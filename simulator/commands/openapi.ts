import { Command } from "commander";
import document from "../openapi/openapi.json" with { type: "json" };
import { createOutput } from "./output.ts";

export default function openapiCommand(): Command {
  return new Command("openapi")
    .description("print the OpenAPI 3.1 document of the service, webhooks included")
    .option("--json", "print it on one line")
    .action((flags: { json?: boolean }) => {
      const output = createOutput(flags);
      output.value(document);
      output.structure(document);
    });
}

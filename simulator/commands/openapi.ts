import { writeFileSync } from "node:fs";
import { Command } from "commander";
import document from "../openapi/openapi.json" with { type: "json" };
import { usageError } from "./command-error.ts";
import { createOutput } from "./output.ts";
import { messageOf } from "../text/errors.ts";

/** `openapi`: the service as an OpenAPI 3.1 document, webhooks included. */
export default function openapiCommand(): Command {
  return new Command("openapi")
    .description("print the OpenAPI 3.1 document of the service, webhooks included")
    .option("--out <file>", "write it to this file")
    .option("--json", "print it on one line")
    .action((flags: { out?: string; json?: boolean }) => {
      const output = createOutput(flags);
      if (flags.out === undefined) {
        output.value(document);
        output.structure(document);
        return;
      }
      try {
        writeFileSync(flags.out, `${JSON.stringify(document, null, 2)}\n`);
      } catch (error) {
        throw usageError(`--out ${flags.out} cannot be written: ${messageOf(error)}.`);
      }
      output.value({ object: "file", path: flags.out });
      output.line(`Written to ${flags.out}.`);
    });
}

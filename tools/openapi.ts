import { writeFileSync } from "node:fs";
import { format } from "oxfmt";
import { scenarioJsonSchema } from "../simulator/domain/world/scenario.ts";
import { createOpenApiDocument } from "./openapi/document.ts";

/** Regenerates the files made from the schemas, after a change of them: `node tools/openapi.ts`. */
if (process.argv.some((word) => word === "--help" || word === "-h")) {
  process.stdout.write(
    "Usage: npm run openapi\n\nWrites simulator/openapi/openapi.json and simulator/schemas/*.json anew, from the schemas.\n",
  );
  process.exit();
}
for (const [file, made] of [
  ["openapi/openapi.json", createOpenApiDocument()],
  ["schemas/scenario.schema.json", scenarioJsonSchema()],
] as const) {
  const { code } = await format(file, JSON.stringify(made), { printWidth: 110 });
  writeFileSync(new URL(`../simulator/${file}`, import.meta.url), code);
}

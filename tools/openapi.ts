import { writeFileSync } from "node:fs";
import { format } from "oxfmt";
import { createOpenApiDocument } from "./openapi/document.ts";

/** Writes simulator/openapi/openapi.json anew, after a change of the schemas: `node tools/openapi.ts`. */
if (process.argv.includes("--help")) {
  process.stdout.write(
    "Usage: npm run openapi\n\nWrites simulator/openapi/openapi.json anew, from the schemas.\n",
  );
  process.exit();
}
const file = new URL("../simulator/openapi/openapi.json", import.meta.url);
const { code } = await format("openapi.json", JSON.stringify(createOpenApiDocument()), { printWidth: 110 });
writeFileSync(file, code);

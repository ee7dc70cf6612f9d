import "../../shared/node-version.ts";
import { runWorker } from "./child.ts";
import { assignmentSchema } from "./messages.ts";

await runWorker(assignmentSchema.parse(JSON.parse(process.argv[2] ?? "{}")));

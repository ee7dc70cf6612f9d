import "../shared/node-version.ts";
import { handlers } from "./handlers/index.ts";
import { runWorker } from "./worker-process.ts";

await runWorker({ handlers });

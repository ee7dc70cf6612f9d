import "../../shared/node-version.ts";
import { handlers } from "../handlers/index.ts";
import { runWorker } from "./child.ts";

await runWorker({ handlers });

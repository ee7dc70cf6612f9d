import { runWorker } from "../../../receiver/worker-process.ts";
import { countingHandlers, endEverything } from "./handlers.ts";

await runWorker({ handlers: countingHandlers({ end: endEverything }) });

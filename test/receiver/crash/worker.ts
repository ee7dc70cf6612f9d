import { runWorker } from "../../../receiver/work/child.ts";
import { countingHandlers, endEverything } from "./handlers.ts";

await runWorker({ handlers: countingHandlers({ end: endEverything }) });

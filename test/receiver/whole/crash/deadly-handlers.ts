import { countingHandlers, endEverything } from "./handlers.ts";

export const handlers = countingHandlers({ end: endEverything });

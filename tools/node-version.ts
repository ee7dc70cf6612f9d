import { endOnOldNode } from "../shared/node-version.ts";

/** Our own programs import this first. */
endOnOldNode();

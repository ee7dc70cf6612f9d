import { endOnOldNode } from "../shared/node-version.ts";

/** Our programs import this first. */
endOnOldNode();

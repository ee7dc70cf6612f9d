import "../../../shared/node-version.ts";
import { serveWriter } from "./accept.ts";

serveWriter();

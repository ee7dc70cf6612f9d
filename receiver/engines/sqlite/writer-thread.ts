import "../../../shared/node-version.ts";
import { serveWriter } from "./writer.ts";

serveWriter();

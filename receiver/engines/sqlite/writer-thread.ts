import "../../../shared/node-version.ts";
import { serveWriter } from "./serve-writer.ts";

serveWriter();

import { gunzipSync } from "node:zlib";
import type { Mutant } from "../mutants.ts";
import { CORRECT } from "../behaviour.ts";
import { header } from "./helpers.ts";

/** Bugs in which requests are verified at all: a hook skips some, and they arrive unverified. */
export const FORMS: Record<string, Mutant> = {
  "hook-not-for-text": {
    bug: "verifies in a hook that does not run for text",
    plant: { verifies: (request) => !header(request, "content-type").startsWith("text/") },
    caughtBy: "signature.forged-text-plain",
    cause: "forgery_accepted",
  },
  "hook-needs-a-type": {
    bug: "verifies in a hook that does not run without Content-Type",
    plant: { verifies: (request) => header(request, "content-type") !== "" },
    caughtBy: "signature.forged-no-type",
    cause: "forgery_accepted",
  },
  "hook-not-for-forms": {
    bug: "verifies in a hook that does not run for forms",
    plant: { verifies: (request) => !header(request, "content-type").includes("urlencoded") },
    caughtBy: "signature.forged-form-encoded",
    cause: "forgery_accepted",
  },
  "hook-needs-a-length": {
    bug: "verifies in a hook that does not run for bodies in chunks",
    plant: { verifies: (request) => header(request, "transfer-encoding") === "" },
    caughtBy: "signature.forged-chunked",
    cause: "forgery_accepted",
  },
  "hook-not-for-gzip": {
    bug: "verifies plain bodies only, and takes compressed ones as they come",
    plant: {
      verifies: (request) => header(request, "content-encoding") === "",
      parse: (body, state) => CORRECT.parse(body[0] === 0x1f ? gunzipSync(body) : body, state),
    },
    caughtBy: "signature.forged-gzip",
    cause: "forgery_accepted",
  },
  "hook-needs-a-body": {
    bug: "answers 200 to what has no body, before it verifies",
    plant: { precheck: (request) => (header(request, "content-length") === "0" ? 200 : undefined) },
    caughtBy: "signature.forged-empty",
    cause: "forgery_accepted",
  },
};

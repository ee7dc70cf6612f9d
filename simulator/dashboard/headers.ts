import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import helmet from "helmet";

/**
 * What a browser may do with the dashboard: run our own files and nothing else. Transcripts, names and answers come
 * from strangers, so even one that got out of its text node could neither run, nor load, nor send anything.
 */
export function dashboardHeaders(page: string): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'", ...inlineHashes(page)],
        styleSrc: ["'self'"],
        fontSrc: ["'self'"],
        imgSrc: ["'self'"],
        mediaSrc: ["'self'"],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        // Makes innerHTML and its relatives throw.
        requireTrustedTypesFor: ["'script'"],
        trustedTypes: ["'none'"],
      },
    },
    // This is plain HTTP on loopback: there is nothing to be strict about.
    strictTransportSecurity: false,
  });
}

/** What has to run before the page is painted stands in it; the policy names it by its hash. */
function inlineHashes(page: string): string[] {
  const scripts = page.matchAll(/<script>(.*?)<\/script>/gs);
  return [...scripts].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
}

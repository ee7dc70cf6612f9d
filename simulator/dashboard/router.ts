import { createHash } from "node:crypto";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type Request, type RequestHandler, type Response, Router } from "express";
import helmet from "helmet";
import { currentBundle } from "./bundle.ts";

const FOR_EVER = "public, max-age=31536000, immutable";
const COMPRESSED = new Set([".html", ".js", ".svg"]);
/** Nearly as small as with the highest quality, in a tenth of the time. */
const BROTLI_QUALITY = 9;

type Encoding = "br" | "gzip";

/**
 * The dashboard, at `/dashboard`: one page with a script, a font and an icon, and a second script once another page than
 * the list is opened. It does everything through the control API, and reads the world through the REST API. Works offline.
 */
export function createDashboard(): Router {
  const compressed = new Map<string, Promise<Buffer>>();
  let policy: RequestHandler | undefined;
  const router = Router();
  router.get("/", (_request, response) => response.redirect("/dashboard"));
  router.use("/dashboard", async (request, response, next) => {
    const { page } = await currentBundle();
    policy ??= headersOf(page);
    policy(request, response, next);
  });

  router.get("/dashboard/assets/:name", async (request, response, next) => {
    const { name } = request.params;
    const body = (await currentBundle()).files.get(name);
    if (body === undefined) return next();
    await send(name, body, request, response.set("Cache-Control", FOR_EVER));
  });
  router.use("/dashboard/assets", (_request, response) => {
    response.status(404).type("text/plain").send("File not found.");
  });
  // Every other address belongs to the page, which decides what to show.
  router.get(["/dashboard", "/dashboard/*path"], async (request, response) => {
    const { page } = await currentBundle();
    await send(".html", Buffer.from(page), request, response.set("Cache-Control", "no-cache"));
  });

  async function send(name: string, body: Uint8Array, request: Request, response: Response): Promise<void> {
    const type = extname(`page${name}`);
    response.set("Vary", "Accept-Encoding").type(type);
    const encoding = COMPRESSED.has(type) ? request.acceptsEncodings("br", "gzip") : false;
    if (encoding !== "br" && encoding !== "gzip") return void response.send(Buffer.from(body));
    const key = `${name} ${encoding}`;
    if (!compressed.has(key)) compressed.set(key, compress(body, encoding));
    response.set("Content-Encoding", encoding).send(await compressed.get(key));
  }

  return router;
}

function compress(body: Uint8Array, encoding: Encoding): Promise<Buffer> {
  if (encoding === "gzip") return promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION });
  return promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
}

/**
 * The policy for browsers: run only our own files. Transcripts, names and answers are foreign: even one that escaped from
 * its text node could not run, load or send anything.
 */
function headersOf(page: string): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'", ...hashes(page, "script")],
        styleSrc: ["'self'", ...hashes(page, "style")],
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
    // Plain HTTP on loopback has no use for it.
    strictTransportSecurity: false,
  });
}

/** The page contains what it needs before the first paint; the policy allows it by its hash. */
function hashes(page: string, tag: "script" | "style"): string[] {
  const inline = page.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"));
  return [...inline].map(([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`);
}

import type { Change } from "./changed.ts";

/** An example that is right but for one mistake, and the check that is meant to find it. */
export type Twin = Change & { mistake: string; caughtBy: string };

/** One mistake for each check that finds one, in the line in which people make it. */
export const TWINS: Twin[] = [
  {
    of: "node-http.ts",
    mistake: "adds the chunks of a body up as text",
    changes: [
      { find: "const chunks: Buffer[] = [];", replace: 'let text = "";' },
      {
        find: "if (chunk instanceof Buffer) chunks.push(chunk);",
        replace: "text += String(chunk);",
      },
      { find: "Buffer.concat(chunks);", replace: "Buffer.from(text);" },
    ],
    caughtBy: "wire.split-multibyte",
  },
  {
    of: "node-http.ts",
    mistake: "looks for a signature only where there is a Content-Length",
    changes: [
      {
        find: "if (!isSigned(",
        replace: 'if (request.headers["content-length"] !== undefined && !isSigned(',
      },
    ],
    caughtBy: "signature.forged-chunked",
  },
  {
    of: "express-raw.ts",
    mistake: "has express.json() in front of its raw body",
    changes: [
      { find: "const app = express();", replace: "const app = express();\napp.use(express.json());" },
    ],
    caughtBy: "preflight.accepts",
  },
  {
    of: "express-raw.ts",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      { find: "express.raw({", replace: "express.json({" },
      {
        find: "const body: unknown = request.body;",
        replace: "const body: unknown = Buffer.from(JSON.stringify(request.body ?? null));",
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "express-raw.ts",
    mistake: "takes an empty body for a ping, signed or not",
    changes: [
      {
        find: "if (!Buffer.isBuffer(body) || !isSigned(",
        replace:
          "if (!Buffer.isBuffer(body) || body.length === 0) return response.json({ pong: true });\n  if (!isSigned(",
      },
    ],
    caughtBy: "signature.forged-empty",
  },
  {
    of: "express-json.ts",
    mistake: "trusts what its hook did not see",
    changes: [
      { find: "if (raw === undefined || !isSigned(", replace: "if (raw !== undefined && !isSigned(" },
      { find: "const app = express();", replace: "const app = express();\napp.use(express.text());" },
      {
        find: "const event: unknown = request.body;",
        replace:
          'const event: unknown = typeof request.body === "string" ? JSON.parse(request.body) : request.body;',
      },
      { find: "store.run(id, raw)", replace: 'store.run(id, raw ?? "")' },
    ],
    caughtBy: "signature.forged-text-plain",
  },
  {
    of: "fastify.ts",
    mistake: "takes the body as a string",
    changes: [
      { find: 'parseAs: "buffer"', replace: 'parseAs: "string"' },
      { find: "parsed(null, body)", replace: "parsed(null, Buffer.from(body))" },
    ],
    caughtBy: "raw-bytes.replacement-character",
  },
  {
    of: "flask_app.py",
    mistake: "verifies what is declared as JSON",
    changes: [{ find: "if not is_signed(", replace: "if request.is_json and not is_signed(" }],
    caughtBy: "signature.forged-form-encoded",
  },
  {
    of: "receiver.php",
    mistake: "trims the body",
    changes: [
      { find: "file_get_contents('php://input');", replace: "trim(file_get_contents('php://input'));" },
    ],
    caughtBy: "raw-bytes.trailing-newline",
  },
];

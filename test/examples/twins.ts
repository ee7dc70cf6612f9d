import type { Change } from "./changed.ts";

/** An example that is right but for one mistake, and the check that is meant to find it. */
export type Twin = Change & { mistake: string; caughtBy: string };

/** The mistakes that people make with each framework, in the line in which they make them. */
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
    mistake: "verifies request.body, written again, in spite of its hook",
    changes: [
      {
        find: "const raw = rawBodies.get(request);",
        replace: "const raw = Buffer.from(JSON.stringify(request.body ?? null));",
      },
    ],
    caughtBy: "raw-bytes.reformatted",
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
    of: "fastify.ts",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      {
        find: "parsed(null, body)",
        replace: 'parsed(null, Buffer.from(JSON.stringify(JSON.parse(body.toString("utf8")))))',
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "fastify.ts",
    mistake: "verifies Buffers, and trusts the string that Fastify makes of text/plain",
    changes: [
      { find: "const { body, headers } = request;", replace: "let { body, headers } = request;" },
      {
        find: "if (!Buffer.isBuffer(body) || !isSigned(",
        replace: "if (Buffer.isBuffer(body) && !isSigned(",
      },
      {
        find: "const id = eventId(body);",
        replace: "body = Buffer.from(body as string);\n  const id = eventId(body as Buffer);",
      },
      { find: "store.run(id, body)", replace: "store.run(id, body as Buffer)" },
    ],
    caughtBy: "signature.forged-text-plain",
  },
  {
    of: "hono.ts",
    mistake: "takes the body as text",
    changes: [{ find: "await context.req.arrayBuffer()", replace: "await context.req.text()" }],
    caughtBy: "raw-bytes.replacement-character",
  },
  {
    of: "hono.ts",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      {
        find: "await context.req.arrayBuffer()",
        replace: "JSON.stringify(await context.req.json())",
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "http_server.py",
    mistake: "knows no body but one with a Content-Length",
    changes: [{ find: 'if "chunked" not in', replace: 'if "" in' }],
    caughtBy: "wire.chunked",
  },
  {
    of: "http_server.py",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      {
        find: "body = self.read_body()",
        replace: "body = json.dumps(json.loads(self.read_body())).encode()",
      },
    ],
    caughtBy: "preflight.accepts",
  },
  {
    of: "flask_app.py",
    mistake: "takes the body as text",
    changes: [
      { find: "body = request.get_data()", replace: "body = request.get_data(as_text=True).encode()" },
    ],
    caughtBy: "raw-bytes.replacement-character",
  },
  {
    of: "flask_app.py",
    mistake: "parses first, and verifies what it writes again, as tightly as the service does",
    changes: [
      {
        find: "body = request.get_data()",
        replace: 'body = json.dumps(request.get_json(), separators=(",", ":"), ensure_ascii=False).encode()',
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "flask_app.py",
    mistake: "verifies what is declared as JSON",
    changes: [{ find: "if not is_signed(", replace: "if request.is_json and not is_signed(" }],
    caughtBy: "signature.forged-form-encoded",
  },
  {
    of: "receiver.php",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      {
        find: "file_get_contents('php://input');",
        replace:
          "json_encode(json_decode(file_get_contents('php://input')), JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);",
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "receiver.php",
    mistake: "trims the body",
    changes: [
      { find: "file_get_contents('php://input');", replace: "trim(file_get_contents('php://input'));" },
    ],
    caughtBy: "raw-bytes.trailing-newline",
  },
  {
    of: "sinatra_app.rb",
    mistake: "parses first, and verifies what it writes again",
    changes: [
      {
        find: "body = request.body.read",
        replace: "body = JSON.generate(JSON.parse(request.body.read))",
      },
    ],
    caughtBy: "raw-bytes.reformatted",
  },
  {
    of: "receiver.go",
    mistake: "decodes first, and verifies what it encodes again",
    changes: [
      {
        find: "\tif err != nil || !isSigned(",
        replace:
          "\tvar decoded any\n\tjson.Unmarshal(body, &decoded)\n\tbody, _ = json.Marshal(decoded)\n\tif err != nil || !isSigned(",
      },
    ],
    caughtBy: "preflight.accepts",
  },
  {
    of: "receiver.go",
    mistake: "takes a length that is not known for no body, with nothing to verify",
    changes: [
      { find: "err != nil || !isSigned(", replace: "err != nil || r.ContentLength > 0 && !isSigned(" },
    ],
    caughtBy: "signature.forged-chunked",
  },
];

import type { CheckContext } from "./context.ts";
import type { Exchange } from "./delivery.ts";

/** Frameworks: name, what their headers hold, what their command holds, and how each comes to take a chunked body. */
const TABLE = String.raw`
Django | ^cross-origin-opener-policy: same-origin$|^server: wsgiserver | manage\.py|django|\bwsgi\b | Under WSGI (gunicorn, runserver) it reads Content-Length alone, and takes a chunked body for an empty one. Run it under ASGI, or behind nginx, which collects the body and states its length.
Flask | ^server: werkzeug | \bflask\b | It reads a chunked body where its server says that the input ends: gunicorn does.
a WSGI server | ^server: (?:gunicorn|waitress|cheroot) | gunicorn|waitress|uwsgi | Most applications on it read Content-Length alone, and take a chunked body for an empty one. Read wsgi.input to its end, or put nginx in front, which states the length.
PHP | ^x-powered-by: php | \bphp\b|artisan | PHP's own server (php -S) does not read chunked bodies: run it behind nginx or Apache with PHP-FPM.
Rails | ^x-runtime:  | \brails\b|\bpuma\b|config\.ru | Rack reads a chunked body on Puma: read request.body and not request.content_length.
Express | ^x-powered-by: express | \bexpress\b | Express takes it with express.raw({ type: () => true }) in the route.
Python's http.server | ^server: (?:basehttp|simplehttp) | $^ | BaseHTTPRequestHandler leaves the body to you, and code that reads Content-Length alone takes a chunked one for an empty one. Read the chunks where Transfer-Encoding says so.
`;

const FRAMEWORKS = TABLE.trim()
  .split("\n")
  .map((line) => line.split(" | "))
  .map(([name = "", headers = "", command = "", fix = ""]) => {
    return { name, fix, headers: new RegExp(headers, "im"), command: new RegExp(command) };
  });

/** Why a chunked body was not taken, and what to do, in the words of the framework where it is recognized. */
export function chunkedFix({ receiver }: CheckContext, { outcome }: Exchange): string {
  const headers =
    outcome.kind === "answered" ? outcome.headers.map(([name, value]) => `${name}: ${value}`).join("\n") : "";
  const command = receiver?.command.join(" ") ?? "";
  const known =
    FRAMEWORKS.find((one) => one.headers.test(headers)) ??
    FRAMEWORKS.find((one) => one.command.test(command));
  const seen = known === undefined ? "" : ` This looks like ${known.name}. ${known.fix}`;
  return `How a body is framed is not stated, and the service sends a Content-Length today.${seen}`;
}

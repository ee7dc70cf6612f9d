import type { CheckContext } from "./context.ts";
import type { Exchange } from "./delivery.ts";

type Framework = { name: string; fix: string; headers?: RegExp; command?: RegExp };

const LENGTH = "reads Content-Length alone, and takes a chunked body for an empty one.";

/** Frameworks that are known by their headers or their command, and how each comes to take a chunked body. */
const FRAMEWORKS: Framework[] = [
  {
    name: "Django",
    headers: /^cross-origin-opener-policy: same-origin$|^server: wsgiserver/im,
    command: /manage\.py|django|\bwsgi\b/,
    fix: `Django under WSGI (gunicorn, runserver) ${LENGTH} Run it under ASGI, or behind nginx, which collects the body and states its length.`,
  },
  {
    name: "Flask",
    headers: /^server: werkzeug/im,
    command: /\bflask\b/,
    fix: "Flask reads a chunked body where its server says that the input ends: gunicorn does.",
  },
  {
    name: "a WSGI server",
    headers: /^server: (?:gunicorn|waitress|cheroot)/im,
    command: /gunicorn|waitress|uwsgi/,
    fix: `Most applications on WSGI ${LENGTH} Read wsgi.input to its end, or put nginx in front, which states the length.`,
  },
  {
    name: "PHP",
    headers: /^x-powered-by: php/im,
    command: /\bphp\b|artisan/,
    fix: "PHP's own server (php -S) does not read chunked bodies: run it behind nginx or Apache with PHP-FPM.",
  },
  {
    name: "Rails",
    headers: /^x-runtime: /im,
    command: /\brails\b|\bpuma\b|config\.ru/,
    fix: "Rack reads a chunked body on Puma: read request.body and not request.content_length.",
  },
  {
    name: "Express",
    headers: /^x-powered-by: express/im,
    command: /\bexpress\b/,
    fix: "Express takes it with express.raw({ type: () => true }) in the route.",
  },
  {
    name: "Python's http.server",
    headers: /^server: (?:basehttp|simplehttp)/im,
    fix: `BaseHTTPRequestHandler leaves the body to you, and code that ${LENGTH} Read the chunks where Transfer-Encoding says so.`,
  },
];

/** Why a chunked body was not taken, and what to do, in the words of the framework where it is recognized. */
export function chunkedFix({ receiver }: CheckContext, { outcome }: Exchange): string {
  const headers =
    outcome.kind === "answered" ? outcome.headers.map(([name, value]) => `${name}: ${value}`).join("\n") : "";
  const command = receiver?.command.join(" ") ?? "";
  const known =
    FRAMEWORKS.find((one) => one.headers?.test(headers)) ??
    FRAMEWORKS.find((one) => one.command?.test(command));
  const seen = known === undefined ? "" : ` This looks like ${known.name}. ${known.fix}`;
  return `How a body is framed is not stated, and the service sends a Content-Length today.${seen}`;
}

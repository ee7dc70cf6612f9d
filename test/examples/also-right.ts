import type { Change } from "./changed.ts";

/** Another way to do what an example does, as right by the specification, and the checks that see the difference. */
export type AlsoRight = Change & {
  difference: string;
  seenBy: string[];
  /** Its deliveries run into their time limit: half a minute, for the long run alone. */
  slow?: true;
};

/** What people do otherwise, and somebody might take for a mistake. */
export const ALSO_RIGHT: AlsoRight[] = [
  {
    of: "express-raw.ts",
    difference: "leaves the limit of bodies where Express has it",
    changes: [{ find: ', limit: "1mb"', replace: "" }],
    seenBy: ["evolution", "readings"],
  },
  {
    of: "node-http.ts",
    difference: "reads the clock with fractions of a second",
    changes: [{ find: "Math.floor(Date.now() / 1000)", replace: "Date.now() / 1000" }],
    seenBy: ["signature"],
  },
  {
    of: "hono.ts",
    difference: "takes digests in capitals too",
    changes: [{ find: "Buffer.from(v1)", replace: "Buffer.from(v1.toLowerCase())" }],
    seenBy: ["signature"],
  },
  {
    of: "fastify.ts",
    difference: "takes the header in the one form in which the service writes it",
    changes: [
      {
        find: 'const pairs = header.split(",")',
        replace:
          'if (!/^t=\\d+,v1=[0-9a-f]{64}$/.test(header)) return false;\n  const pairs = header.split(",")',
      },
    ],
    seenBy: ["signature", "readings"],
  },
  {
    of: "http_server.py",
    difference: "lets as many connections wait as Python does",
    changes: [{ find: "ThreadingHTTPServer.request_queue_size = 128", replace: "" }],
    seenBy: ["load"],
    slow: true,
  },
  {
    of: "flask_app.py",
    difference: "answers 202 and nothing more",
    changes: [{ find: "return jsonify(received=True)", replace: 'return "", 202' }],
    seenBy: ["acknowledgement", "duplicates"],
  },
];

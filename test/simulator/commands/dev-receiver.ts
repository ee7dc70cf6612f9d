import { createServer } from "node:http";
import { verify } from "../../../shared/signature.ts";

/** A receiver for the tests of `dev`, which behaves according to its argument. */
const behaviour = process.argv[2];
const { PORT, SIGNING_SECRET, API_BASE_URL, API_KEY } = process.env;

process.stdout.write(`secret ${SIGNING_SECRET?.slice(0, 6)} api ${API_BASE_URL} key ${API_KEY}\n`);
if (behaviour === "dies") {
  process.stderr.write("cannot find module express\n");
  process.exit(7);
}
const statuses: Record<string, number> = { works: 200, rejects: 401, elsewhere: 404, fails: 500 };
if (behaviour === "stubborn") process.on("SIGTERM", () => process.stdout.write("no end\n"));
if (behaviour === "verifies") {
  verifying(SIGNING_SECRET ?? "", Number(PORT));
} else if (behaviour !== "deaf") {
  createServer((request, response) => {
    request.resume();
    if (behaviour === "silent" || behaviour === "stubborn") {
      process.stdout.write(`asked ${process.pid}\n`);
      return;
    }
    if (behaviour === "collapses") {
      process.stderr.write("out of memory\n", () => process.exit(7));
      return;
    }
    request.once("end", () => response.writeHead(statuses[behaviour ?? ""] ?? 200).end());
  }).listen(Number(PORT), "127.0.0.1");
} else {
  process.stdout.write(`deaf ${process.pid}\n`);
  setInterval(() => {}, 1_000);
}

/** Answers 200 to requests signed with the secret, and 401 to all others. */
function verifying(secret: string, port: number): void {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.once("end", () => {
      const headers = [request.headers["x-service-signature"] ?? ""].flat();
      const nowSeconds = Math.floor(Date.now() / 1000);
      const { ok } = verify({ headers, body: Buffer.concat(pieces), secrets: [secret], nowSeconds });
      response.writeHead(ok ? 200 : 401).end();
    });
  }).listen(port, "127.0.0.1", () =>
    process.stdout.write(`${secret} at ${JSON.stringify(server.address())}\n`),
  );
}

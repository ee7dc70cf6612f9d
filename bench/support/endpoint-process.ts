import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An endpoint in a separate process that reads each request and answers the status it was started with. */
const status = Number(process.argv[2] ?? 200);

const server = createServer((request, response) => {
  request.resume();
  request.once("end", () => response.writeHead(status, { "content-length": 2 }).end("no"));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));

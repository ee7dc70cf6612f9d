import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import autocannon from "autocannon";
import express from "express";
import jsonServer from "json-server";
import { listen } from "../simulator/service/server.ts";
import { createSimulator } from "../simulator/service/simulator.ts";
import { createReport, whole } from "./support/report.ts";
import { inTurns, numberOf } from "./support/rounds.ts";

/**
 * A page of a hundred calls out of a million, over HTTP, compared with json-server, without its log and other middleware;
 * with an array that Express slices and serialises, which is the least that such servers do; and with a bare server that
 * sends the same bytes ready-made. Pages are requested at eight places in turn. Run it with `npm run bench -- pages`.
 */
const SECONDS = numberOf("--seconds") ?? 3;
const ROUNDS = numberOf("--rounds") ?? 5;
const CALLS = numberOf("--calls") ?? 1_000_000;
const CONNECTIONS = 10;
const PLACES = 8;
const PAGE = 100;

const created = createSimulator({ seed: 1, calls: CALLS * 2, clock: "manual" });
if (!created.ok) throw new Error(created.message);
const { simulator } = created;
const listening = await listen(simulator, {
  port: 0,
  host: "127.0.0.1",
  onError: (error) => process.stderr.write(`${String(error)}\n`),
});
if (!listening.ok) throw new Error(listening.message);
const own = `${listening.server.url}/api/v1/calls`;
const headers = { authorization: "Bearer va_test_restaurant" };

const paths = [`?limit=${PAGE}`];
let body = "";
let calls: { id: string }[] = [];
while (paths.length < PLACES) {
  body = await (await fetch(own + (paths.at(-1) ?? ""), { headers })).text();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own answer
  calls = (JSON.parse(body) as { data: { id: string }[] }).data;
  paths.push(`?limit=${PAGE}&starting_after=${calls.at(-1)?.id ?? ""}`);
}

const array = Array.from({ length: CALLS }, (_, index) => calls[index % PAGE]);
const app = express().get("/calls", (request, response) => {
  const from = Number(request.query["_start"]);
  response.json({ object: "list", data: array.slice(from, from + PAGE), has_more: true });
});
const sliced = createServer(app).listen(0, "127.0.0.1");
const files = jsonServer.create();
files.use(jsonServer.router({ calls: array }));
const filed = createServer(files).listen(0, "127.0.0.1");
const bytes = Buffer.from(body);
const bare = createServer((_request, response) =>
  response
    .writeHead(200, { "content-type": "application/json", "content-length": bytes.byteLength })
    .end(bytes),
).listen(0, "127.0.0.1");

const report = createReport();
try {
  const {
    simulated,
    array: arrays,
    jsonServer: jsons,
    ready,
  } = await inTurns(ROUNDS, {
    simulated: () => pagesASecond(own, paths),
    array: () =>
      pagesASecond(
        `${addressOf(sliced)}/calls`,
        paths.map((_, place) => `?_start=${place * PAGE}`),
      ),
    jsonServer: () =>
      pagesASecond(
        `${addressOf(filed)}/calls`,
        paths.map((_, place) => `?_start=${place * PAGE}&_limit=${PAGE}`),
      ),
    ready: () => pagesASecond(addressOf(bare), paths),
  });
  report.line(`a page of ${PAGE} of ${whole(CALLS)} calls, ${whole(bytes.byteLength)} bytes`);
  report.line(`medians of ${ROUNDS} rounds in turns, ${SECONDS} s each, ${CONNECTIONS} connections`);
  report.line(`the same bytes ready-made, bare server    ${whole(ready).padStart(9)} pages/s`);
  report.line(`json-server                               ${whole(jsons).padStart(9)} pages/s`);
  report.line(`an array, sliced and written by Express   ${whole(arrays).padStart(9)} pages/s`);
  report.line(`simulator                                 ${whole(simulated).padStart(9)} pages/s`);
  report.held("simulator ÷ json-server", simulated / jsons, { atLeast: 1 });
  report.held("simulator ÷ an array, sliced and written", simulated / arrays, { atLeast: 1 });
  report.held("simulator ÷ the same bytes ready-made", simulated / ready, { atLeast: 0.5 });
  report.conclude();
} finally {
  sliced.close();
  filed.close();
  bare.close();
  await listening.server.close();
  await simulator.close();
}

async function pagesASecond(url: string, queries: readonly string[]): Promise<number> {
  const { pathname } = new URL(url);
  const result = await autocannon({
    url,
    headers,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: queries.map((query) => ({ path: pathname + query })),
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} answers of ${url} were not 2xx.`);
  return result["2xx"] / result.duration;
}

function addressOf(server: typeof bare): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

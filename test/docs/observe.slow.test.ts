import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createObserver } from "../../simulator/observer/observer.ts";
import { startReceiver } from "../../simulator/processes/receiver-process.ts";
import { freePort } from "../helpers/free-port.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { ROOT } from "../repository/files.ts";
import { blocksOf, pageAt } from "./pages.ts";

const PAGE = "docs/observe.md";
const DONE = "evt_0f39808ef71f3907cf5e92573c33e5ea";
const UNKNOWN = "evt_00000000000000000000000000000000";

type Stack = {
  file: string;
  /** A whole program around the line of the page. */
  program: (line: string) => string;
  command: string[];
  /** Ends with 0 where the stack is installed. */
  probe?: string[];
};

const COUNT_JS = `const count = (id) => (id === "${DONE}" ? 2 : 0);\n`;
const COUNT_PYTHON = `def count(id): return 2 if id == "${DONE}" else 0\n`;
const node = (program: Stack["program"], file = "app.mjs"): Stack => ({
  file,
  program: (line) => COUNT_JS + program(line),
  command: [process.execPath, file === "app.mjs" ? file : "serve.mjs"],
});
const python = (name: string, program: Stack["program"]): Stack => ({
  file: "app.py",
  program: (line) => `import os\n${COUNT_PYTHON}${program(line)}`,
  command: [pythonWith(name), "app.py"],
  probe: [pythonWith(name), "-c", `import ${name}`],
});

const STACKS: Record<string, Stack> = {
  Express: node(
    (line) => `import express from "express";
const app = express();
${line}
app.listen(process.env.PORT);`,
  ),
  Fastify: node(
    (line) => `import Fastify from "fastify";
const app = Fastify();
${line}
app.listen({ port: Number(process.env.PORT) });`,
  ),
  Hono: node(
    (line) => `import { Hono } from "hono";
import { serve } from "@hono/node-server";
const app = new Hono();
${line}
serve({ fetch: app.fetch, port: Number(process.env.PORT) });`,
  ),
  // Building its own server takes a minute; it calls a standard Fetch function, so the test does, too.
  "Next.js, in `app/handled/[id]/route.js`": node((line) => line, "route.mjs"),
  "node:http, at the beginning of your listener": node(
    (line) => `import { createServer } from "node:http";
createServer((request, response) => {
  ${line}
  response.writeHead(405).end();
}).listen(process.env.PORT);`,
  ),
  Flask: python(
    "flask",
    (line) => `from flask import Flask
app = Flask(__name__)
${line}
app.run(port=int(os.environ["PORT"]))`,
  ),
  "Django, in `urlpatterns`": python(
    "django",
    (line) => `from django.conf import settings
settings.configure(DEBUG=True, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])
import django; django.setup()
from django.http import JsonResponse
from django.urls import path
from django.core.wsgi import get_wsgi_application
from wsgiref.simple_server import make_server
urlpatterns = [${line}]
make_server("localhost", int(os.environ["PORT"]), get_wsgi_application()).serve_forever()`,
  ),
  FastAPI: python(
    "fastapi, uvicorn",
    (line) => `from fastapi import FastAPI
import uvicorn
app = FastAPI()
${line}
uvicorn.run(app, host="localhost", port=int(os.environ["PORT"]))`,
  ),
  Go: {
    file: "main.go",
    program: (line) => `package main
import ("fmt"; "net/http"; "os"; "path")
func count(id string) int { if id == "${DONE}" { return 2 }; return 0 }
func main() {
	${line}
	http.ListenAndServe("localhost:"+os.Getenv("PORT"), nil)
}`,
    command: ["go", "run", "main.go"],
    probe: ["go", "version"],
  },
  PHP: {
    file: "app.php",
    program: (line) => `<?php
function count_of(string $id): int { return $id === '${DONE}' ? 2 : 0; }
${line}
http_response_code(405);`,
    command: ["sh", "-c", 'exec php -S "localhost:$PORT" app.php'],
    probe: ["php", "--version"],
  },
  "Ruby, with Sinatra": {
    file: "app.rb",
    program: (line) => `require "json"
require "sinatra"
set :port, ENV["PORT"]
set :bind, "localhost"
def count(id) = id == "${DONE}" ? 2 : 0
${line}`,
    command: ["ruby", "app.rb"],
    probe: ["ruby", "-e", 'gem "sinatra"'],
  },
};

test("every stack of the page has a test", () => {
  const headings = [...pageAt(PAGE).matchAll(/^### (.+)$/gm)].map(([, heading = ""]) => heading);
  expect(headings).toEqual(Object.keys(STACKS));
});

for (const [heading, stack] of Object.entries(STACKS)) {
  const { file, program, command, probe } = stack;
  const isHere = probe === undefined || runs(probe);
  test.runIf(isHere)(`the line for ${heading} reports to verify how often an event was handled`, async () => {
    const folder = temporaryDirectory();
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), program(lineUnder(heading)));
    writeFileSync(join(folder, "serve.mjs"), ROUTES);
    const port = await freePort();
    const url = `http://localhost:${port}/`;
    const inFolder = ["sh", "-c", 'cd "$0" && exec "$@"', folder, ...command];
    const started = await startReceiver({ command: inFolder, url, env: { PORT: String(port) } });
    if (!started.ok) throw new Error([started.message, ...started.output].join("\n"));
    onTestFinished(() => started.receiver.kill());
    const observe = createObserver(`${url}handled/{id}`);
    expect(await observe(DONE)).toMatchObject({ known: true, count: 2 });
    expect(await observe(UNKNOWN)).toMatchObject({ known: true, count: 0 });
  });
}

/** Calls a route handler as Next.js does. */
const ROUTES = `import { createServer } from "node:http";
import { GET } from "./route.mjs";
createServer(async (request, response) => {
  const params = Promise.resolve({ id: request.url.split("/").pop() });
  const answer = await GET(new Request("http://localhost" + request.url), { params });
  response.writeHead(answer.status).end(await answer.text());
}).listen(process.env.PORT);`;

function lineUnder(heading: string): string {
  const at = pageAt(PAGE).split("\n").indexOf(`### ${heading}`);
  const block = blocksOf(PAGE).find(({ line }) => line > at);
  const text = block?.text.trim() ?? "";
  // The code to copy is one line.
  expect(text.split("\n")).toHaveLength(1);
  return text;
}

/** Debian's own Python has Debian's packages; another one may be first in PATH. */
function pythonWith(modules: string): string {
  return runs(["python3", "-c", `import ${modules}`]) ? "python3" : "/usr/bin/python3";
}

function runs([program = "", ...words]: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: "ignore" }).status === 0;
}

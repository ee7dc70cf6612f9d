import { execFileSync, spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { RUN_TYPESCRIPT } from "../helpers/typescript.ts";

const FOLDER = fileURLToPath(new URL("../../examples/receivers/", import.meta.url));

/** A receiver of examples/receivers, and how to run it or a changed copy of it. */
export type Example = {
  file: string;
  /** Program and arguments that start the receiver in `path`. */
  command: (path: string) => string[];
  /** Compiles `path` into `folder`; returns the path of the result. */
  build?: (path: string, folder: string) => string;
  /** Why it cannot run on this machine. */
  absent?: string;
};

const node = (path: string): string[] => [process.execPath, ...RUN_TYPESCRIPT, path];

/** Debian's own Python too, since only that one has Debian's packages. */
const PYTHONS = ["python3", "/usr/bin/python3"];
const python = PYTHONS.find((program) => runs(program, ["--version"]));
const HAS_FLASK = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("flask") is None)';
const pythonWithFlask = PYTHONS.find((program) => runs(program, ["-c", HAS_FLASK]));

/** Before 0.93 it ignores `lifespan`. */
const NEW_FASTAPI =
  'import fastapi, inspect, uvicorn; assert "lifespan" in inspect.signature(fastapi.FastAPI).parameters';
const HAS_SINATRA =
  'gem "sinatra"; gem "sqlite3"; exit %w[puma webrick].any? { |name| Gem::Specification.find_all_by_name(name).any? }';

/** Every example, by its file. */
export const EXAMPLES: Example[] = [
  { file: "node-http.ts", command: node },
  { file: "express-raw.ts", command: node },
  { file: "express-json.ts", command: node },
  { file: "fastify.ts", command: node },
  { file: "hono.ts", command: node },
  {
    file: "http_server.py",
    command: (path) => [python ?? "python3", path],
    ...(python === undefined && { absent: "there is no python3 here" }),
  },
  {
    file: "flask_app.py",
    command: (path) => [pythonWithFlask ?? "python3", path],
    ...(pythonWithFlask === undefined && { absent: "no python3 here has flask (Debian: python3-flask)" }),
  },
  {
    file: "fastapi_app.py",
    command: (path) => [
      "sh",
      "-c",
      'exec python3 -m uvicorn --app-dir "$0" fastapi_app:app --port "$PORT"',
      dirname(path),
    ],
    ...(!runs("python3", ["-c", NEW_FASTAPI]) && {
      absent: "no python3 here has fastapi from 0.93 on, and uvicorn",
    }),
  },
  {
    file: "django_app.py",
    command: (path) => [
      "sh",
      "-c",
      'exec gunicorn --chdir "$0" --threads 16 -b "127.0.0.1:$PORT" django_app:application',
      dirname(path),
    ],
    ...(!runs("python3", ["-c", "import django, gunicorn"]) && {
      absent: "no python3 here has django and gunicorn",
    }),
  },
  {
    file: "Receiver.java",
    command: (path) => ["java", "-cp", path, "Receiver"],
    build: (path, folder) => {
      execFileSync("javac", ["-d", folder, path]);
      return folder;
    },
    ...(!runs("javac", ["--version"]) && { absent: "there is no javac here (Debian: default-jdk-headless)" }),
  },
  {
    file: "receiver.php",
    command: (path) => ["sh", "-c", 'php "$0" & exec php -S "127.0.0.1:$PORT" "$0"', path],
    ...(!runs("php", ["-r", 'exit(extension_loaded("pdo_sqlite") ? 0 : 1);']) && {
      absent: "no php here has pdo_sqlite (Debian: php-cli php-sqlite3)",
    }),
  },
  {
    file: "sinatra_app.rb",
    command: (path) => ["ruby", path],
    ...(!runs("ruby", ["-e", HAS_SINATRA]) && {
      absent: "no ruby here has sinatra and sqlite3 (Debian: ruby-sinatra ruby-sqlite3 puma)",
    }),
  },
  {
    file: "receiver.go",
    command: (path) => [path],
    build: (path, folder) => {
      execFileSync("go", ["build", "-o", `${folder}/receiver`, path], { cwd: folder });
      return `${folder}/receiver`;
    },
    ...(!runs("go", ["version"]) && { absent: "there is no go here (Debian: golang-go)" }),
  },
];

/** Where the example's file is. */
export const pathOf = ({ file }: Example): string => FOLDER + file;

function runs(program: string, words: string[]): boolean {
  return spawnSync(program, words, { stdio: "ignore" }).status === 0;
}

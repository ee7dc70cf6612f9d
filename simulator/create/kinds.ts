/** A kind of project for `create`: one receiver of the examples, as a project. */
export type Kind = {
  title: string;
  /** The example under examples/, and its name in the project. */
  files: Record<string, string>;
  /** The shell command that starts it; a Node.js project reads `.env` itself. */
  start: string;
  node?: {
    /** npm packages besides the kit, with versions if the kit does not install them. */
    packages: Readonly<Record<string, string | undefined>>;
    dev: string;
    build?: string;
  };
  /** Debian packages that it needs on a build server with only Node.js. */
  debian?: string;
  github?: string;
};

const HANDLERS = { "handlers.mjs": "mounted/handlers.mjs", "handlers.test.mjs": "mounted/handlers.test.mjs" };

const mounted = (title: string, file: string, packages: string[]): Kind => ({
  title: `${title} with the receiver mounted, its handlers and their tests`,
  files: { "app.mjs": `mounted/${file}`, ...HANDLERS },
  start: "node --env-file-if-exists=.env app.mjs",
  node: {
    packages: Object.fromEntries(packages.map((name) => [name, undefined])),
    dev: "node --watch --env-file-if-exists=.env app.mjs",
  },
});

export const KINDS = {
  express: mounted("an Express app", "express.mjs", ["express"]),
  fastify: mounted("a Fastify app", "fastify.mjs", ["fastify"]),
  next: {
    title: "a Next.js app with the receiver mounted, its handlers and their tests",
    files: {
      "app/webhooks/route.js": "mounted/next/app/webhooks/route.js",
      "app/handled/[id]/route.js": "mounted/next/app/handled/[id]/route.js",
      "app/layout.js": "mounted/next/app/layout.js",
      "app/page.js": "mounted/next/app/page.js",
      "receiver.mjs": "mounted/next/receiver.mjs",
      ...HANDLERS,
      "instrumentation.js": "mounted/next/instrumentation.js",
      "next.config.mjs": "mounted/next/next.config.mjs",
    },
    start: "next start --hostname 127.0.0.1",
    node: {
      // Not installed in the kit, since they are many times its size; the long tests try them.
      packages: { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" },
      dev: "next dev --hostname 127.0.0.1",
      build: "next build",
    },
  },
  hono: mounted("a Hono app", "hono.mjs", ["hono", "@hono/node-server"]),
  python: {
    title: "a receiver in Python, with nothing to install",
    files: { "receiver.py": "receivers/http_server.py" },
    start: "python3 receiver.py",
    debian: "python3",
  },
  go: {
    title: "a receiver in Go, with nothing to install",
    files: { "receiver.go": "receivers/receiver.go" },
    start: "env DATABASE=events.jsonl go run receiver.go",
    debian: "golang-go",
  },
  php: {
    title: "a receiver in PHP, with the pdo_sqlite module",
    files: { "receiver.php": "receivers/receiver.php" },
    start: "sh -c 'php receiver.php & exec php -S 127.0.0.1:$PORT receiver.php'",
    debian: "php-cli php-sqlite3",
  },
  ruby: {
    title: "a receiver in Ruby, on Sinatra",
    files: { "receiver.rb": "receivers/sinatra_app.rb" },
    start: "ruby receiver.rb",
    debian: "ruby-sinatra ruby-sqlite3 puma",
    github: "gem install sinatra sqlite3 puma rackup",
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;

/**
 * `node:http`, as `import` gives it. An `import` reads everything that it exports, and with `http.WebSocket` that is a whole
 * second HTTP client, which takes longer to load than most commands take to run.
 */
export const http = process.getBuiltinModule("node:http");

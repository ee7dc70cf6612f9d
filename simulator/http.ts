/**
 * `node:http` and `node:https`, as `import` gives them. An `import` reads everything they export, and with `http.WebSocket`
 * that is a whole second HTTP client, which takes longer to load than most commands take to run.
 */
export const http = process.getBuiltinModule("node:http");
/** Loads TLS: asked for where an address begins with https. */
export const loadHttps = () => process.getBuiltinModule("node:https");

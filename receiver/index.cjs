"use strict";
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `Node.js ${process.versions.node} is too old: this needs 22.19 or newer. Install Node.js 24.`,
  );
}

/** The library for `require()`. Loaded by Node's own, since a test runner such as jest gives each file another `require`. */
module.exports = process.getBuiltinModule("node:module").createRequire(__filename)("./index.js");

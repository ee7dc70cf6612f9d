"use strict";
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `Node.js ${process.versions.node} is too old: this needs 22.19 or newer. Install Node.js 24.`,
  );
}

let Module = require("node:module");
// jest gives each test file its own `Module`, which extends Node.js's and cannot load ES modules.
while (Object.hasOwn(Object.getPrototypeOf(Module), "createRequire")) Module = Object.getPrototypeOf(Module);
const library = Module.createRequire(__filename)("./index.js");

/** The library for `require()`, with the `Date` of the test file, which may be faked only there. */
module.exports = {
  ...library,
  startSimulator: (options) => library.startSimulator(options, () => Date.now()),
};

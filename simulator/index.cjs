"use strict";
const { pathToFileURL } = require("node:url");
const { constants, Script } = require("node:vm");

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  throw new Error(
    `Node.js ${process.versions.node} is too old: this needs 22.19 or newer. Install Node.js 24.`,
  );
}

/** The library for `require()`. */
try {
  module.exports = require("./index.js");
} catch (error) {
  // jest gives each test file a context of its own, where `require` loads no ES module.
  if (error.code !== "ERR_REQUIRE_ESM" && error.name !== "SyntaxError") throw error;
  module.exports = { startSimulator: startByImport };
}

/** Imports the library in Node.js's main context, outside that of the test file, whose date it takes all the same. */
async function startByImport(options) {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const load = new Script("(url) => import(url)", { importModuleDynamically }).runInThisContext();
  const library = await load(pathToFileURL(`${__dirname}/index.js`).href);
  return library.startSimulator(options, () => Date.now());
}

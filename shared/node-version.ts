/**
 * The guard that every entry point imports first. better-sqlite3 and undici need Node.js 22.19; on an older one
 * better-sqlite3 dies with a segmentation fault and no message, so this speaks before it is loaded.
 */
const MINIMUM = [22, 19] as const;
const EXIT_CONFIGURATION = 78;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1])) {
  process.stderr.write(
    `Node.js ${process.versions.node} is too old: this needs ${MINIMUM.join(".")} or newer. Install Node.js 24; ` +
      "in a checkout of the kit, npm start and npm run bring their own on Linux and Windows.\n",
  );
  process.exit(EXIT_CONFIGURATION);
}

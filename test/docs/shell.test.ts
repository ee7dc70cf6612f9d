import { expect, test } from "vitest";
import { shellCommands } from "./shell.ts";

test.each([
  [
    "npm ci && npm start",
    [
      ["npm", "ci"],
      ["npm", "start"],
    ],
  ],
  ["a 'b c' \"d $E\" f\\ g   # h", [["a", "b c", "d $E", "f g"]]],
  ["a \\\n  b\nc", [["a", "b"], ["c"]]],
  ["A=1 B='2 3' c --d=e", [["c", "--d=e"]]],
  ["A=$(b | c d) e", [["e"], ["b"], ["c", "d"]]],
  ["A=$(b)", [["b"]]],
  ["{ printf '%s.' \"$T\"; cat x; } | e > f 2>&1", [["printf", "%s.", "$T"], ["cat", "x"], ["e"]]],
  ["if [ -f x ]; then y; fi", [["[", "-f", "x", "]"], ["y"]]],
  ["a 'http://x/{id}' http://x/{id} {b}", [["a", "http://x/{id}", "http://x/{id}", "{b}"]]],
  [
    'cd "$(dirname "$0")/.."',
    [
      ["cd", "$(…)/.."],
      ["dirname", "$0"],
    ],
  ],
  ["# nothing\n", []],
])("the commands of %j", (script, commands) => {
  expect(shellCommands(script).map(({ words }) => words)).toEqual(commands);
});

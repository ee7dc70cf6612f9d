import { expect, test } from "vitest";
import { nodeIsTooOld } from "../../shared/node-minimum.ts";

test.each(["22.19.0", "22.20.1", "23.0.0", "24.1.0", "100.0.0"])("Node.js %s will do", (version) => {
  expect(nodeIsTooOld(version)).toBeUndefined();
});

test.each(["22.18.9", "22.9.0", "21.99.0", "20.20.2", "4.0.0", "", "next"])(
  "Node.js %s is too old, in one line that says what to install",
  (version) => {
    const told = nodeIsTooOld(version) ?? "";
    expect(told).toContain(`Node.js ${version} is too old: this needs 22.19 or newer. Install Node.js 24`);
    expect(told).not.toContain("\\n");
  },
);

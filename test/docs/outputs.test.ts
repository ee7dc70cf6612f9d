import { expect, test } from "vitest";
import { parseSignature } from "../../shared/signature.ts";
import { blockUnder } from "./pages.ts";

/** Output that pages show, where no other test of theirs makes it anyway. */

test("docs/signature.md shows a header of the form that it describes", () => {
  const [, value = ""] =
    /^X-Service-Signature: (.+)\n$/.exec(
      blockUnder("docs/signature.md", "How do I verify the signature?", "text"),
    ) ?? [];
  expect(parseSignature([value])).toMatchObject({ ok: true });
});

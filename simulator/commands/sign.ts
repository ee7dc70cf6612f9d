import { Command, Option } from "commander";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";
import { printfOf, quoted } from "../text/shell-words.ts";
import { readBodyInput, type BodyInput } from "./body-input.ts";
import { webUrl, wholeNumber } from "./option-values.ts";
import { createOutput } from "./output.ts";
import { secretOption, wantSecret } from "./secret-option.ts";

type Flags = { secret?: string; body?: string; timestamp?: number; curl?: string; json?: boolean };

const LATEST_TIMESTAMP = 999_999_999_999;

export default function signCommand(): Command {
  return new Command("sign")
    .description("sign a body, byte for byte as it is given: prints the header, or a ready curl")
    .argument("[file]", "the body; - or nothing reads standard input")
    .addOption(secretOption())
    .option("--body <text>", "the body itself")
    .addOption(
      new Option("--timestamp <seconds>", "the t to sign with; now when absent").argParser(
        wholeNumber(0, LATEST_TIMESTAMP),
      ),
    )
    .option("--curl <url>", "print a curl command that posts it there", webUrl)
    .option("--json", "print JSON")
    .action((file: string | undefined, flags: Flags) => {
      const output = createOutput(flags);
      const secret = wantSecret(flags.secret);
      const input = readBodyInput(file, flags.body);
      const timestampSeconds = flags.timestamp ?? Math.floor(Date.now() / 1000);
      const value = sign({ body: input.bytes, secret, timestampSeconds });
      const curl = flags.curl === undefined ? undefined : curlCommand(flags.curl, value, input);
      output.value({
        object: "signature",
        header: SIGNATURE_HEADER,
        value,
        timestamp: timestampSeconds,
        body_bytes: input.bytes.byteLength,
        curl,
      });
      if (curl !== undefined) {
        for (const line of curl.split("\n")) output.line(line);
        return;
      }
      output.line(`${SIGNATURE_HEADER}: ${value}`);
      output.note("\nIt is good until 300 s after its t. Add --curl URL for a command that sends it.");
    });
}

/** curl reads a file itself; the shell prints any other body. */
function curlCommand(url: string, signature: string, { bytes, file }: BodyInput): string {
  const body = file === undefined ? `${printfOf(bytes)} | ` : "";
  return [
    `${body}curl -sS -i -X POST ${quoted(url)}`,
    "-H 'Content-Type: application/json'",
    `-H ${quoted(`${SIGNATURE_HEADER}: ${signature}`)}`,
    `--data-binary ${file === undefined ? "@-" : quoted(`@${file}`)}`,
  ].join(" \\\n  ");
}

import { Command, InvalidArgumentError } from "commander";
import { diagnose, type Diagnosis } from "../explain/diagnose.ts";
import { readBodyInput } from "./body-input.ts";
import { EXIT } from "./command-error.ts";
import { createOutput, type Output } from "./output.ts";
import { secretOption, wantWrittenSecret } from "./secret-option.ts";
import { ourCommand } from "../text/invocation.ts";

type Flags = {
  header: string;
  secret?: string;
  body?: string;
  computed?: string;
  at?: number;
  json?: boolean;
};

export default function explainCommand(): Command {
  return new Command("explain")
    .description(
      "say why a signature does not verify, by trying the known mistakes until one gives the same digest. " +
        "Give header, body and secret as your code has them.",
    )
    .argument("[file]", "the body; - or nothing reads standard input")
    .requiredOption("--header <value>", "the value of X-Service-Signature")
    .addOption(secretOption())
    .option("--body <text>", "the body itself")
    .option("--computed <digest>", "what your own code computed, where you can print it")
    .option("--at <time>", "when the request arrived: Unix seconds or ISO 8601; now when absent", unixSeconds)
    .option("--json", "print JSON")
    .action((file: string | undefined, flags: Flags) => {
      const output = createOutput(flags);
      const secret = wantWrittenSecret(flags.secret);
      const diagnosis = diagnose({
        header: flags.header,
        body: readBodyInput(file, flags.body).bytes,
        secret,
        nowSeconds: flags.at ?? Math.floor(Date.now() / 1000),
        computed: flags.computed,
      });
      output.value({ object: "diagnosis", ...diagnosis, expected: diagnosis.expected ?? null });
      print(diagnosis, output);
      process.exitCode = diagnosis.valid && diagnosis.findings.length === 0 ? EXIT.ok : EXIT.checkFailed;
    });
}

function print(diagnosis: Diagnosis, output: Output): void {
  const { valid, findings, explained, expected, tried } = diagnosis;
  if (valid) output.line(output.style("green", "The signature verifies for this body and secret."));
  for (const { title, fix } of findings) {
    output.line(output.style(valid ? "yellow" : "red", title));
    if (fix !== "") output.line(`  ${fix}`);
  }
  if (!explained) {
    output.line(
      output.style(
        "red",
        `The digest is wrong, and none of ${tried} known mistakes, alone or in pairs, explains it.`,
      ),
    );
    output.line("  Either the secret is the wrong one (of another endpoint, or an older one),");
    output.line("  or the body was changed on its way: compare it byte by byte with what was sent.");
    output.note(`\nWhat was sent:  ${ourCommand("deliveries show ID --json")}`);
  }
  if (!valid && expected !== undefined) output.line(`For this body and secret, v1 is ${expected}`);
}

function unixSeconds(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const timeMs = Date.parse(text);
  if (!Number.isNaN(timeMs)) return Math.floor(timeMs / 1000);
  throw new InvalidArgumentError("Give Unix seconds, or a time such as 2026-01-31T18:05:09Z.");
}

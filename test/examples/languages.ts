import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { ROOT } from "../repository/files.ts";

/** A language of docs/signature.md, and how its snippet is run. */
export type Language = {
  name: string;
  file: string;
  /** The whole program: it reads a JSON list of `{ header, body, secret, now }` and prints the list of verdicts. */
  program: (snippet: string) => string;
  command: (path: string) => [program: string, ...words: string[]];
  /** A command that succeeds if the language is installed. */
  probe: [program: string, ...words: string[]];
};

export const LANGUAGES: Language[] = [
  {
    name: "Node.js",
    file: "signed.mjs",
    program: (snippet) => `${snippet}
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(({ header, body, secret, now }) =>
  isSigned(header, Buffer.from(body, "base64"), secret, now))));
`,
    command: (path) => [process.execPath, path],
    probe: [process.execPath, "--version"],
  },
  {
    name: "Python",
    file: "signed.py",
    program: (snippet) => `${snippet}
import base64, json, sys
print(json.dumps([is_signed(c["header"], base64.b64decode(c["body"]), c["secret"], c["now"]) for c in json.load(sys.stdin)]))
`,
    command: (path) => ["python3", path],
    probe: ["python3", "--version"],
  },
  {
    name: "Go",
    file: "signed.go",
    program: (snippet) => `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/hex"; "encoding/json"; "os"; "strconv"; "strings")
${snippet}
func main() {
	var cases []struct{ Header string; Body []byte; Secret string; Now int64 }
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
	verdicts := []bool{}
	for _, c := range cases { verdicts = append(verdicts, isSigned(c.Header, c.Body, c.Secret, c.Now)) }
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
`,
    command: (path) => ["go", "run", path],
    probe: ["go", "version"],
  },
  {
    name: "PHP",
    file: "signed.php",
    program: (snippet) => `<?php
${snippet}
echo json_encode(array_map(
    fn ($c) => is_signed($c['header'] ?? '', base64_decode($c['body']), $c['secret'], $c['now']),
    json_decode(file_get_contents('php://stdin'), true),
));
`,
    command: (path) => ["php", path],
    probe: ["php", "--version"],
  },
  {
    name: "Ruby",
    file: "signed.rb",
    program: (snippet) => `${snippet}
require "json"
puts JSON.generate(JSON.parse($stdin.read).map { |c| signed?(c["header"], c["body"].unpack1("m"), c["secret"], c["now"]) ? true : false })
`,
    command: (path) => ["ruby", path],
    probe: ["ruby", "--version"],
  },
];

/** The shell tools for signing and sending that are missing on this machine. */
export const MISSING_TOOLS = [
  ["curl", "--version"],
  ["openssl", "version"],
]
  .filter(([program = "", word = ""]) => !isHere({ probe: [program, word] }))
  .map(([program]) => program);

/** Whether the command `probe` can be run here. */
export function isHere({ probe: [program, ...words] }: Pick<Language, "probe">): boolean {
  return spawnSync(program, words, { stdio: "ignore" }).status === 0;
}

export function signaturePage(): string {
  return readFileSync(`${ROOT}docs/signature.md`, "utf8");
}

/** The first code under the signature page's heading of that name. */
export function snippet(heading: string): string {
  const [, below = ""] = signaturePage().split(`\n### ${heading}\n`);
  const [, code] = /^```\w+\n([^]*?)^```$/m.exec(below) ?? [];
  if (code === undefined) throw new Error(`docs/signature.md has no code under ${heading}.`);
  return code;
}

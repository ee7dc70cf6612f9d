/**
 * How a signature is verified in each language (docs/signature.md has the same code), and how that is asked about one
 * attempt: programs that read SIGNING_SECRET, and print whether a receiver trusts the body.
 */
export const LANGUAGES = [
  {
    name: "Node.js",
    file: "node",
    run: "node check.mjs",
    program: (code, { header, body, now }) => `${code}
console.log(isSigned(
  ${JSON.stringify(header)},
  Buffer.from("${body}", "base64"),
  process.env.SIGNING_SECRET,
  ${now}, // when it was sent
));
`,
  },
  {
    name: "Python",
    file: "python",
    run: "python3 check.py",
    program: (code, { header, body, now }) => `${code}
import base64, os

print(is_signed(
    ${JSON.stringify(header)},
    base64.b64decode("${body}"),
    os.environ["SIGNING_SECRET"],
    ${now},  # when it was sent
))
`,
  },
  {
    name: "Go",
    file: "go",
    run: "go run check.go",
    program: (code, { header, body, now }) => `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

${code}
func main() {
	body, _ := base64.StdEncoding.DecodeString("${body}")
	header := ${JSON.stringify(header)}
	// The last one is when it was sent.
	fmt.Println(isSigned(header, body, os.Getenv("SIGNING_SECRET"), ${now}))
}
`,
  },
  {
    name: "PHP",
    file: "php",
    run: "php check.php",
    program: (code, { header, body, now }) => `<?php
${code}
var_export(is_signed(
    ${singleQuoted(header)},
    base64_decode('${body}'),
    getenv('SIGNING_SECRET'),
    ${now}, // when it was sent
));
`,
  },
  {
    name: "Ruby",
    file: "ruby",
    run: "ruby check.rb",
    program: (code, { header, body, now }) => `${code}
puts signed?(
  ${singleQuoted(header)},
  "${body}".unpack1("m"),
  ENV.fetch("SIGNING_SECRET"),
  ${now}, # when it was sent
)
`,
  },
];

/** The program that asks `language` about an attempt. */
export async function programFor(language, attempt) {
  return language.program(await codeOf(language), {
    header: attempt.signature.header,
    body: base64Of(attempt.request.body),
    now: Math.floor(Date.parse(attempt.wall_started_at) / 1000),
  });
}

/** How a signature is verified in `language`. */
export async function codeOf({ file }) {
  const response = await fetch(`/dashboard/assets/snippets/${file}.txt`);
  return response.text();
}

/** Backslashes and quotes are all that these two languages read in single quotes. */
function singleQuoted(text) {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function base64Of(text) {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
}

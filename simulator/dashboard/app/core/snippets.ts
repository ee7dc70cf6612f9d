import { control } from "./api.ts";
import { live } from "./live.ts";
import type { AttemptDetail } from "./types.ts";
import go from "../snippets/go.txt";
import node from "../snippets/node.txt";
import php from "../snippets/php.txt";
import python from "../snippets/python.txt";
import ruby from "../snippets/ruby.txt";

type Asked = { header: string; body: string; now: number };
/** `code` verifies a signature; `program` asks it about one attempt. */
export type Language = {
  name: string;
  code: string;
  run: string;
  program: (code: string, asked: Asked) => string;
};

/**
 * How a signature is verified in each language (docs/signature.md has the same code), and how that is asked about one
 * attempt: programs that read SIGNING_SECRET, and print whether a receiver trusts the body.
 */
export const LANGUAGES: [Language, ...Language[]] = [
  {
    name: "Node.js",
    code: node,
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
    code: python,
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
    code: go,
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
    code: php,
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
    code: ruby,
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
export function programFor(language: Language, attempt: AttemptDetail): string {
  return language.program(language.code, {
    header: attempt.signature.header,
    body: base64Of(attempt.request.body),
    now: Math.floor(Date.parse(attempt.wall_started_at) / 1000),
  });
}

/** Backslashes and quotes are all that these two languages read in single quotes. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function base64Of(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
}

/** One word of a shell, whatever is in it. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Headers that curl sends without being told. */
const CURLS_OWN = new Set(["host", "content-length", "connection"]);

/** An attempt as a command, signed at this moment: the simulator has the secret, and a signature is good for 300 s. */
export async function attemptCurl(deliveryId: string, number: number): Promise<string> {
  const path = `/deliveries/${encodeURIComponent(deliveryId)}/sign` as const;
  const { url, ...request } = await control.post(path, { attempt: number });
  const headers = Object.entries(request.headers)
    .filter(([name]) => !CURLS_OWN.has(name))
    .map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`);
  return ["curl -i", ...headers, `--data-binary ${shellWord(request.body)}`, shellWord(url)].join(" \\\n  ");
}

/** A call of the REST API as a command. */
export function apiCurl(path: string, apiKey: string): string {
  const key = apiKey === "" ? [] : [`-H ${shellWord(`Authorization: Bearer ${apiKey}`)}`];
  return ["curl -i", ...key, shellWord(`${location.origin}${path}`)].join(" \\\n  ");
}

/** Where commands look for a simulator by themselves. */
const USUAL_ORIGINS = new Set(["http://127.0.0.1:4010", "http://localhost:4010"]);

/** The simulator as this user types it: the way it was started. */
export function programName(): string {
  return live.about?.command ?? "voice-agent-simulator";
}

/** A command for this very simulator, that can be pasted into a shell. */
export function commandLine(words: string[]): string {
  const address = USUAL_ORIGINS.has(location.origin) ? [] : ["--simulator", location.origin];
  return [programName(), ...[...words, ...address].map(shellWord)].join(" ");
}

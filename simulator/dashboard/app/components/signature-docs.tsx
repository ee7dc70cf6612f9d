import { useState } from "preact/hooks";
import { useLoaded } from "../core/load.ts";
import go from "../snippets/go.txt";
import node from "../snippets/node.txt";
import php from "../snippets/php.txt";
import python from "../snippets/python.txt";
import ruby from "../snippets/ruby.txt";
import { Segments } from "./button.tsx";
import { Code } from "./code-view.tsx";
import { TextField } from "./field.tsx";

/** How a signature is verified in each language (docs/signature.md has the same code). */
const LANGUAGES = Object.entries({ "Node.js": node, Python: python, Go: go, PHP: php, Ruby: ruby });

/** HMAC-SHA256 of `text` under `secret`, in lower-case hexadecimal; empty until computed, and without a secret. */
function useDigest(secret: string, text: string): string {
  const { value = "" } = useLoaded(`${secret} ${text}`, async () => {
    // Browsers refuse an empty key.
    if (secret === "") return "";
    const encoder = new TextEncoder();
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
    const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  });
  return value;
}

const FIRST = { secret: "whsec_example", t: "1769882709", body: '{"id":"evt_1","type":"call.completed"}' };

/** How a signature is made and checked (SPEC §6 Signature), with an example to change, and as code. */
export function SignatureDocs() {
  const [values, setValues] = useState(FIRST);
  const { secret, t, body } = values;
  const digest = useDigest(secret, `${t}.${body}`) || "…";
  const set = (name: keyof typeof FIRST) => (value: string) => setValues({ ...values, [name]: value });
  return (
    <section id="signature" class="docs-part stack">
      <h2>The signature</h2>
      <p>
        Each attempt carries <code>X-Service-Signature: t=…,v1=…</code>. It proves that the service sent this
        body, not long ago; nothing else proves it.
      </p>
      <ol class="stack near">
        <li>
          <b>Read the body as bytes</b>, before any parser: JSON that was parsed and written again has other
          bytes.
        </li>
        <li>
          <b>Parse the header</b>: <code>key=value</code> pairs, separated by commas, in any order. Refuse it
          without <code>t</code> or <code>v1</code>.
        </li>
        <li>
          <b>Compute</b> HMAC-SHA256 of <code>t</code>, a full stop and the body. The key is the secret as it
          was shown, <code>whsec_</code> included; the digest is 64 lower-case hexadecimal digits.
        </li>
        <li>
          <b>Compare</b> all 64 in constant time with each <code>v1</code>; one must match.
        </li>
        <li>
          <b>Check the time</b>: refuse when <code>t</code> is more than 300 s before or after now; exactly
          300 s is accepted. Each retry is signed anew, so even an old event has a fresh <code>t</code>.
        </li>
      </ol>
      <div class="docs-worked card box stack">
        <h3>An example</h3>
        <div class="field-grid">
          <TextField label="Secret" value={secret} onInput={set("secret")} />
          <TextField label="t" value={t} onInput={set("t")} inputmode="numeric" />
        </div>
        <TextField label="Body" value={body} onInput={set("body")} rows={2} />
        <h4>The signed string</h4>
        <Code label="Signed string" text={`${t}.${body}`} />
        <h4>The header</h4>
        <Code label="Signature header" text={`X-Service-Signature: t=${t},v1=${digest}`} />
      </div>
      <InCode />
    </section>
  );
}

function InCode() {
  const [language, setLanguage] = useState("Node.js");
  const code = LANGUAGES.find(([name]) => name === language)?.[1] ?? "";
  return (
    <>
      <h3>In code</h3>
      <Segments
        label="Language"
        value={language}
        options={LANGUAGES.map(([name]) => [name, name])}
        onChange={setLanguage}
      />
      <Code copies label={`Verification in ${language}`} text={code} />
    </>
  );
}

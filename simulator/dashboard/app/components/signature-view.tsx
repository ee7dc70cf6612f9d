import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLoaded } from "../core/load.ts";
import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, secondsOf, VERDICTS } from "../core/words.ts";
import { CopyButton, Icon } from "./button.tsx";
import { Code, useLanguage } from "./code-view.tsx";
import { TextField } from "./field.tsx";
import { Panel } from "./page.tsx";

type Signature = AttemptDetail["signature"];

/** The signature of an attempt taken apart and checked, in the order in which a receiver checks it (SPEC §6). */
export function SignatureView({ attempt }: { attempt: AttemptDetail }) {
  const { signature, request } = attempt;
  const { t, v1, problem, matches, age_at_send_seconds: age, tolerance_seconds: tolerance } = signature;
  const isInTime = Math.abs(age) <= tolerance;
  return (
    <Panel title="Signature" aside={verdictWords(signature)}>
      <HeaderParts header={signature.header} />
      <ol class="stack near">
        <Step ok={problem === null} title="Take the header apart">
          {problem === null ? (
            <>
              <code>t</code> is {t} ({fullTimeOf(Number(t) * 1000)}); there{" "}
              {v1.length === 1 ? "is one" : `are ${v1.length}`} <code>v1</code> of 64 hexadecimal characters.
            </>
          ) : (
            <>It cannot be read: {problem.replaceAll("_", " ")}.</>
          )}
        </Step>
        <Step ok={problem === null} title="Put the signed string together">
          {signature.signed_string_start === null ? (
            "Without t and v1 there is nothing to check."
          ) : (
            <>
              The value of <code>t</code>, a full stop, and the raw body, {signature.signed_bytes} bytes in
              all:<code class="signed foreign">{signature.signed_string_start}…</code>
            </>
          )}
        </Step>
        <Step ok={matches ?? undefined} title="HMAC-SHA256 with the endpoint's secret">
          {matchWords(signature)}
        </Step>
        <Step ok={isInTime} title="Compare t with the clock">
          {ageWords(age)}. {isInTime ? "Up to" : "A receiver refuses more than"} {tolerance} s on either side{" "}
          {isInTime ? "are accepted" : "of its own clock"}.
        </Step>
      </ol>
      {t !== null && <CheckYourself t={t} v1={v1} body={request.body} />}
    </Panel>
  );
}

function verdictWords({ verdict, problem }: Signature) {
  if (verdict === null && problem === null) return "the endpoint, and its secret with it, was deleted";
  const reason = `A correct receiver refuses it: ${String(verdict ?? problem).replaceAll("_", " ")}.`;
  return <Held ok={verdict === "accepted"}>{VERDICTS[verdict ?? ""] ?? reason}</Held>;
}

/** Whether something holds, in words with their mark. */
function Held({ ok, children }: { ok: boolean; children: ComponentChildren }) {
  return (
    <span class={`flex toned ${ok ? "ok" : "bad"}`}>
      <Icon name={ok ? "check" : "cross"} size={15} /> {children}
    </span>
  );
}

function HeaderParts({ header }: { header: string }) {
  if (header === "") return <p class="muted">The request carried no signature header.</p>;
  return (
    <p class="signature-header well small foreign">
      <span class="muted">x-service-signature: </span>
      {header.split(",").map((pair, index) => {
        const [key = "", ...value] = pair.split("=");
        return [
          index > 0 && ",",
          <span key={index} class={key === "t" || key === "v1" ? key : ""}>
            <b>{key}</b>={value.join("=")}
          </span>,
        ];
      })}
    </p>
  );
}

type StepProps = { ok: boolean | undefined; title: string; children: ComponentChildren };

function Step({ ok, title, children }: StepProps) {
  return (
    <li class="flex hangs">
      <span
        class={`verdict-mark disc ${ok === undefined ? "unknown" : ok ? "good" : "wrong"}`}
        aria-hidden="true"
      >
        {ok !== undefined && <Icon name={ok ? "check" : "cross"} size={13} />}
      </span>{" "}
      <div>
        <b>{title}</b>
        {ok !== undefined && <span class="visually-hidden">: {ok ? "holds" : "does not hold"}</span>}
        <p class="muted">{children}</p>
      </div>
    </li>
  );
}

function matchWords({ matches, problem }: Signature): string {
  if (problem !== null) return "Nothing to compare.";
  if (matches === null) return "The secret is gone, so nobody can tell.";
  return matches
    ? "The digest that the secret gives equals the v1 that was sent."
    : "The digest that the secret gives is another one: the body or the secret differs from what was signed.";
}

function ageWords(age: number): string {
  if (age === 0) return "It was signed in the second in which it was sent";
  return age > 0
    ? `When sent, t was ${secondsOf(age)} old`
    : `When sent, t was ${secondsOf(-age)} in the future`;
}

/** The same sum in this browser, for those who want to see it: the secret stays in this field. */
function CheckYourself({ t, v1, body }: { t: string; v1: string[]; body: string }) {
  const [secret, setSecret] = useState("");
  const digest = useDigest(secret, `${t}.${body}`);
  const isSame = v1.includes(digest);
  return (
    <details>
      <summary>Check it here with your own secret</summary>
      <TextField
        label="Signing secret"
        type="password"
        placeholder="whsec_…"
        value={secret}
        onInput={setSecret}
        hint="It is used in this page only, and sent nowhere."
      />
      <div class="digest" aria-live="polite">
        {digest !== "" && (
          <>
            <p>
              <Held ok={isSame}>
                {isSame ? "The same digest." : "Another digest: this is not the secret that signed it."}
              </Held>
            </p>
            <code class="foreign">{digest}</code>
          </>
        )}
      </div>
    </details>
  );
}

/** HMAC-SHA256 of `text` under `secret`, in lower-case hexadecimal; empty until it is known, and without a secret. */
function useDigest(secret: string, text: string): string {
  const { value = "" } = useLoaded(`${secret} ${text}`, async () => {
    // An empty key is none that a browser takes.
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

/** How a signature is made and checked (SPEC §6 Signature), worked out with values that one can change, and as code. */
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
        body, lately; nothing else does.
      </p>
      <ol class="stack near">
        <li>
          <b>Take the body as bytes</b>, before any parser. JSON that was parsed and written again is another
          text.
        </li>
        <li>
          <b>Take the header apart</b>: <code>key=value</code> with commas between, in no promised order.
          Without <code>t</code> or <code>v1</code>, refuse.
        </li>
        <li>
          <b>Compute</b> HMAC-SHA256 of <code>t</code>, a full stop and the body. The key is the secret as it
          was shown, <code>whsec_</code> included; the digest is 64 lower-case hexadecimal digits.
        </li>
        <li>
          <b>Compare</b> all 64 in constant time with each <code>v1</code>; one has to match.
        </li>
        <li>
          <b>Look at the clock</b>: more than 300 s between <code>t</code> and now, on either side, is
          refused; 300 is still inside. Each retry is signed afresh, so an old event has a young{" "}
          <code>t</code>.
        </li>
      </ol>
      <div class="docs-worked card box stack">
        <h3>Worked out</h3>
        <div class="field-grid">
          <TextField label="Secret" value={secret} onInput={set("secret")} />
          <TextField label="t" value={t} onInput={set("t")} inputmode="numeric" />
        </div>
        <TextField label="Body" value={body} onInput={set("body")} rows={2} />
        <h4>Signed is</h4>
        <Code label="Signed string" text={`${t}.${body}`} />
        <h4>The header</h4>
        <Code label="Signature header" text={`X-Service-Signature: t=${t},v1=${digest}`} />
      </div>
      <InCode />
    </section>
  );
}

function InCode() {
  const { language, choice } = useLanguage();
  return (
    <>
      <h3>In code</h3>
      <div class="flex wraps between">
        {choice}
        <CopyButton small text={language.code} label="Copy code" />
      </div>
      <Code label={`Verification in ${language.name}`} text={language.code} />
    </>
  );
}

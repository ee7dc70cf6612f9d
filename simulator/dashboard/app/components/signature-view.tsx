import type { ComponentChildren } from "preact";
import type { AttemptDetail } from "../core/types.ts";
import { fullTimeOf, secondsOf, VERDICTS } from "../core/words.ts";
import { Icon } from "./button.tsx";
import { Panel } from "./page.tsx";

type Signature = AttemptDetail["signature"];

/** The signature of an attempt taken apart and checked, in the order in which a receiver checks it (SPEC §6). */
export function SignatureView({ attempt }: { attempt: AttemptDetail }) {
  const { signature } = attempt;
  const { t, v1, problem, matches, age_at_send_seconds: age, tolerance_seconds: tolerance } = signature;
  const isInTime = Math.abs(age) <= tolerance;
  return (
    <Panel title="Signature" aside={verdictWords(signature)}>
      {signature.header === "" ? (
        <p class="muted">The request carried no signature header.</p>
      ) : (
        <code class="signed foreign">x-service-signature: {signature.header}</code>
      )}
      <ol class="stack near">
        <Step ok={problem === null} title="Parse the header">
          {problem === null ? (
            <>
              <code>t</code> is {t} ({fullTimeOf(Number(t) * 1000)}); there{" "}
              {v1.length === 1 ? "is one" : `are ${v1.length}`} <code>v1</code> of 64 hexadecimal characters.
            </>
          ) : (
            <>It is invalid: {problem.replaceAll("_", " ")}.</>
          )}
        </Step>
        <Step ok={problem === null} title="Build the signed string">
          {signature.signed_string_start === null ? (
            "Nothing to check without t and v1."
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
    </Panel>
  );
}

function verdictWords({ verdict, problem }: Signature) {
  if (verdict === null && problem === null) return "the endpoint and its secret were deleted";
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

type StepProps = { ok: boolean | undefined; title: string; children: ComponentChildren };

function Step({ ok, title, children }: StepProps) {
  const tone = ok === undefined ? "unknown" : ok ? "good" : "wrong";
  return (
    <li class="flex hangs">
      <span class={`verdict-mark disc ${tone}`} aria-hidden="true">
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
  if (matches === null) return "The secret was deleted, so this cannot be checked.";
  return matches
    ? "The digest under the secret equals the v1 that was sent."
    : "The digest under the secret differs from v1: another body or another secret was signed.";
}

function ageWords(age: number): string {
  if (age === 0) return "It was signed in the second it was sent";
  return age > 0
    ? `When sent, t was ${secondsOf(age)} old`
    : `When sent, t was ${secondsOf(-age)} in the future`;
}

import { useMemo } from "preact/hooks";
import type { Check } from "../core/types.ts";
import { shortOf } from "../core/words.ts";
import { Copyable, CopyButton, Icon, type IconName } from "./button.tsx";
import { Chip, type Tone } from "./chips.tsx";
import { Code } from "./code-view.tsx";

const MOST_OF_A_HEADER = 2_000;

export const STANDING_NAMES = ["failed", "advice", "unverified", "passed"] as const;

export type Standing = (typeof STANDING_NAMES)[number];
type ExchangeOf = NonNullable<Check["evidence"]>[number];
type Message = {
  method?: string;
  url?: string;
  status?: number;
  headers?: readonly (readonly [name: string, value: string])[];
  body?: string;
  error?: string;
  message?: string;
};

/** What a check of a report counts as, the worst first: its words, colour and mark. */
export const STANDINGS: Record<Standing, { title: string; word: string; tone: Tone; icon: IconName }> = {
  failed: { title: "Failed", word: "failed", tone: "bad", icon: "cross" },
  advice: { title: "Advice not followed", word: "advice", tone: "wait", icon: "flag" },
  unverified: { title: "Could not be judged", word: "not judged", tone: "plain", icon: "question" },
  passed: { title: "Passed", word: "passed", tone: "ok", icon: "check" },
};

/** What a check counts as; advice that is not followed fails no run. */
export function standingOf({ outcome, level }: Check): Standing {
  if (outcome === "failed") return level === "advice" ? "advice" : "failed";
  return outcome ?? "unverified";
}

/** One check in a row, which opens to show its requests, answers, rule and fix. */
export function CheckRow({ check }: { check: Check }) {
  // Rendered once, while hundreds of others come in.
  return useMemo(() => checkRow(check), [check]);
}

function checkRow(check: Check) {
  const { id, title, level, explanation, hint, rule, repeat, evidence = [] } = check;
  const standing = standingOf(check);
  const { tone, icon, word } = STANDINGS[standing];
  return (
    <li class={`check-row ${tone}`}>
      <details>
        <summary class="edge">
          <Icon name={icon} size={16} />{" "}
          <span>
            <b class="foreign">{title}</b> <code class="muted foreign">{id}</code>{" "}
            {explanation && <span class="check-why muted foreign">{explanation}</span>}
          </span>{" "}
          <span class="flex">
            {level && <span class="muted">{level}</span>}
            <Chip tone={tone}>{word}</Chip>
          </span>
        </summary>
        <div class="check-detail stack near">
          {rule && <Note name={rule.section} text={rule.text} />}
          {hint && <Note name="To do" text={hint} />}
          {repeat && (
            <p>
              <Copyable text={repeat} label="Copy the command that repeats it" />
            </p>
          )}
          {evidence.map((exchange, index) => (
            <Exchange key={index} exchange={exchange} label={`${id}, ${index + 1}`} />
          ))}
          {evidence.length === 0 && <p class="muted">This check has no request to show.</p>}
        </div>
      </details>
    </li>
  );
}

function Note({ name, text }: { name: string; text: string }) {
  return (
    <p class="foreign">
      <span class="muted">{name}:</span> {text}
    </p>
  );
}

/** The request and the answer. */
function Exchange({ exchange, label }: { exchange: ExchangeOf; label: string }) {
  const { sent, received, curl, duration_ms: durationMs } = exchange;
  return (
    <div class="pair stack">
      <div class="stack near">
        <h3>Request</h3>
        {sent?.note && <p class="muted foreign">{sent.note}</p>}
        <Code text={messageText(sent)} label={`Request: ${label}`} />
        {curl && <CopyButton text={curl} label="Copy as curl" />}
      </div>
      <div class="stack near">
        <h3>Answer{durationMs !== undefined && <span class="muted"> after {durationMs} ms</span>}</h3>
        <Code text={messageText(received)} label={`Answer: ${label}`} />
      </div>
    </div>
  );
}

function messageText({ method, url, status, headers = [], body = "", error, message }: Message): string {
  if (error !== undefined) return `${error}: ${message ?? ""}`;
  const first = status === undefined ? `${method ?? ""} ${url ?? ""}` : `HTTP ${status}`;
  const lines = headers.map(([name, value]) => `${name}: ${shortOf(value, MOST_OF_A_HEADER)}`);
  return [first, ...lines, "", body].join("\n");
}

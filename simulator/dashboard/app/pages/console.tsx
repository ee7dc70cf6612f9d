import { useState } from "preact/hooks";
import { type ApiAnswer, asError, callApi } from "../core/api.ts";
import { apiCurl } from "../core/curl.ts";
import { useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization } from "../core/types.ts";
import { millisecondsOf } from "../core/words.ts";
import { Button, CopyButton, Segments } from "../components/button.tsx";
import { Chip } from "../components/chips.tsx";
import { BodyView, Code } from "../components/code-view.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { Empty, Loading, PageHead, Panel, Problem } from "../components/page.tsx";

/** The four endpoints and their parameters (SPEC §4). */
type Operation = [path: string, about: string, parameters: string[]];

const FIRST: Operation = ["/api/v1/me", "The organization of the key, and its scopes.", []];
const ENDPOINTS: Operation[] = [
  FIRST,
  ["/api/v1/agents", "Every agent of the organization.", []],
  ["/api/v1/calls", "Call history, newest first.", ["limit", "starting_after", "outcome"]],
  ["/api/v1/voicemails", "Voicemails, newest first.", ["limit", "starting_after", "reviewed"]],
];
const HINTS: Record<string, [example: string, hint: string]> = {
  limit: ["25", "1 to 100; 25 when empty."],
  starting_after: ["", "The id of the last item of the page before."],
  outcome: ["completed", "completed, transferred or voicemail."],
  reviewed: ["false", "true or false."],
};
const OTHER_KEYS: [key: string, words: string][] = [
  ["va_wrong_key", "A wrong key"],
  ["", "No key"],
];

/** Calls the REST API as a client does, and shows what comes back. */
export function ConsolePage({ query }: { query: URLSearchParams }) {
  const { organizations } = useLive();
  if (organizations === undefined)
    return (
      <>
        <PageHead title="API console" />
        <Loading />
      </>
    );
  const first = organizations.find(({ id }) => id === query.get("org")) ?? organizations[0];
  return (
    <Console
      key={first?.id}
      organizations={organizations}
      firstKey={first?.api_key ?? ""}
      asked={query.get("path")}
    />
  );
}

type ConsoleProps = { organizations: Organization[]; firstKey: string; asked: string | null };

function Console({ organizations, firstKey, asked }: ConsoleProps) {
  const [path, setPath] = useState(asked ?? "");
  const [values, setValues] = useState<Record<string, string>>({});
  const [apiKey, setApiKey] = useState(firstKey);
  const [result, setResult] = useState<ApiAnswer & { url: string }>();
  const [error, setError] = useState<Error>();
  const [known, about, parameters] = ENDPOINTS.find(([one]) => one === path) ?? FIRST;
  const url = urlOf(known, parameters, values);

  async function send(target: string) {
    try {
      setResult({ url: target, ...(await callApi(target, apiKey)) });
      setError(undefined);
    } catch (problem) {
      setError(asError(problem));
    }
  }
  function submit(event: Event) {
    event.preventDefault();
    void send(url);
  }
  function nextPage() {
    const next = { ...values, starting_after: result?.value?.data?.at(-1)?.id ?? "" };
    setValues(next);
    void send(urlOf(known, parameters, next));
  }

  const keys = [
    ...organizations.map(({ api_key: key, name }): [string, string] => [key, `${name} (${key})`]),
    ...OTHER_KEYS,
  ];
  return (
    <>
      <PageHead title="API console" lead="The REST API, as a client with an API key sees it.">
        <Button icon="book" href={hrefTo("/docs#rest")} words="API docs" />
      </PageHead>
      <div class="console stack">
        <form onSubmit={submit}>
          <Panel title="Request" aside="always GET">
            <div class="form stack">
              <Segments
                label="Endpoint"
                value={known}
                options={ENDPOINTS.map(([one]) => [one, one.replace("/api/v1", "")] as const)}
                onChange={setPath}
              />
              <p class="muted">{about}</p>
              <SelectField label="API key" value={apiKey} onChange={setApiKey} options={keys} />
              {parameters.map((name) => (
                <TextField
                  key={name}
                  label={name}
                  value={values[name] ?? ""}
                  placeholder={HINTS[name]?.[0] ?? ""}
                  hint={HINTS[name]?.[1]}
                  onInput={(value) => setValues({ ...values, [name]: value })}
                />
              ))}
              <Code label="The same as curl" text={apiCurl(url, apiKey)} />
            </div>
            <footer class="panel-foot flex wraps between">
              <CopyButton text={() => apiCurl(url, apiKey)} label="Copy as curl" />
              <Button icon="next" type="submit" kind="accent" words="Send" />
            </footer>
          </Panel>
        </form>
        <Panel
          title="Answer"
          aside={
            result && (
              <>
                <Chip tone={result.status < 400 ? "ok" : "bad"}>{result.status}</Chip>{" "}
                <span class="muted">{millisecondsOf(result.durationMs)}</span>
              </>
            )
          }
        >
          {error && <Problem error={error} />}
          {result ? (
            <>
              <code class="muted foreign request-line">GET {result.url}</code>
              {result.status >= 400 && typeof result.value?.message === "string" && (
                <div class="notice bad">
                  <p>{result.value.message}</p>
                </div>
              )}
              <BodyView text={result.text} label="Answer body" />
              {result.value?.has_more === true && (
                <p>
                  <Button onClick={nextPage} words="Next page" />
                </p>
              )}
            </>
          ) : (
            <Empty icon="console" title="Nothing sent yet">
              <p>Choose an endpoint and press Send.</p>
            </Empty>
          )}
        </Panel>
      </div>
    </>
  );
}

function urlOf(path: string, parameters: string[], values: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const name of parameters) if ((values[name] ?? "") !== "") query.set(name, values[name] ?? "");
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

import { useState } from "preact/hooks";
import { type ApiAnswer, asError, callApi } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import { apiCurl } from "../core/snippets.ts";
import type { Organization } from "../core/types.ts";
import { millisecondsOf } from "../core/words.ts";
import { Button, CopyButton, Segments } from "../components/button.tsx";
import { Chip } from "../components/chips.tsx";
import { BodyView, Code } from "../components/code-view.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { Empty, Loading, PageHead, Panel, Problem } from "../components/page.tsx";

/** The four endpoints and their parameters (SPEC §4). */
const ENDPOINTS: Record<string, [about: string, parameters: string[]]> = {
  "/api/v1/me": ["The organization of the key, and its scopes.", []],
  "/api/v1/agents": ["Every agent of the organization.", []],
  "/api/v1/calls": ["Call history, newest first.", ["limit", "starting_after", "outcome"]],
  "/api/v1/voicemails": ["Voicemails, newest first.", ["limit", "starting_after", "reviewed"]],
};
const PATHS = Object.keys(ENDPOINTS).map((path) => [path, path.replace("/api/v1", "")] as const);
const HINTS: Record<string, { placeholder?: string; hint: string }> = {
  limit: { placeholder: "25", hint: "1 to 100; 25 when empty." },
  starting_after: { hint: "The id of the last item of the page before." },
  outcome: { placeholder: "completed", hint: "completed, transferred or voicemail." },
  reviewed: { placeholder: "false", hint: "true or false." },
};

/** Calls the REST API as a client does, and shows what comes back. */
export function ConsolePage({ query }: { query: URLSearchParams }) {
  const { organizations } = useLive();
  const first = organizations?.find(({ id }) => id === query.get("org")) ?? organizations?.[0];
  return (
    <>
      <PageHead title="API console" lead="The REST API, as a client with an API key sees it.">
        <Button icon="book" href={hrefTo("/docs#rest")} words="API docs" />
      </PageHead>
      {organizations === undefined ? (
        <Loading />
      ) : (
        <Console
          key={first?.id}
          firstKey={first?.api_key ?? ""}
          asked={query.get("path")}
          {...{ organizations }}
        />
      )}
    </>
  );
}

type ConsoleProps = { organizations: Organization[]; firstKey: string; asked: string | null };

function Console({ organizations, firstKey, asked }: ConsoleProps) {
  const [path, setPath] = useState(asked !== null && Object.hasOwn(ENDPOINTS, asked) ? asked : "/api/v1/me");
  const [values, setValues] = useState<Record<string, string>>({});
  const [apiKey, setApiKey] = useState(firstKey);
  const [result, setResult] = useState<ApiAnswer & { url: string }>();
  const [error, setError] = useState<Error>();
  const [about, parameters] = ENDPOINTS[path] ?? ["", []];
  const url = urlOf(path, parameters, values);

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
    void send(urlOf(path, parameters, next));
  }

  const keys = organizations.map(({ api_key: key, name }) => [key, `${name} (${key})`] as const);
  const verdict = result && (
    <>
      <Chip tone={result.status < 400 ? "ok" : "bad"}>{result.status}</Chip>{" "}
      {millisecondsOf(result.durationMs)}
    </>
  );
  return (
    <div class="console stack hangs">
      <form onSubmit={submit}>
        <Panel title="Request" aside="always GET">
          <div class="stack">
            <Segments label="Endpoint" value={path} options={PATHS} onChange={setPath} />
            <p class="muted">{about}</p>
            <SelectField
              label="API key"
              value={apiKey}
              onChange={setApiKey}
              options={[...keys, ["va_wrong_key", "A wrong key"], ["", "No key"]]}
            />
            {parameters.map((name) => (
              <TextField
                key={name}
                label={name}
                value={values[name] ?? ""}
                {...HINTS[name]}
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
      <Panel title="Answer" aside={verdict}>
        {error && <Problem error={error} />}
        {result ? (
          <>
            <code class="muted foreign request-line">GET {result.url}</code>
            {result.status >= 400 && typeof result.value?.message === "string" && (
              <p class="notice bad">{result.value.message}</p>
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
  );
}

function urlOf(path: string, parameters: string[], values: Record<string, string>): string {
  const set = parameters.flatMap((name) => (values[name] ? [[name, values[name]]] : []));
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set).toString()}`;
}

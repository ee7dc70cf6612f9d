import { useState } from "preact/hooks";
import { Chip } from "../components/chips.js";
import { BodyView, Code, Segments } from "../components/code-view.js";
import { CopyButton } from "../components/copy-button.js";
import { Empty, Loading, Problem } from "../components/empty.js";
import { SelectField, TextField } from "../components/field.js";
import { Icon } from "../components/icon.js";
import { PageHead, Panel } from "../components/page.js";
import { callApi } from "../core/api.js";
import { apiCurl } from "../core/curl.js";
import { millisecondsOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { hrefTo } from "../core/route.js";

/** The four endpoints and their parameters (SPEC §4). */
const ENDPOINTS = [
  ["/api/v1/me", "The organization of the key, and its scopes.", []],
  ["/api/v1/agents", "Every agent of the organization.", []],
  ["/api/v1/calls", "Call history, newest first.", ["limit", "starting_after", "outcome"]],
  ["/api/v1/voicemails", "Voicemails, newest first.", ["limit", "starting_after", "reviewed"]],
];
const HINTS = {
  limit: ["25", "1 to 100; 25 when empty."],
  starting_after: ["", "The id of the last item of the page before."],
  outcome: ["completed", "completed, transferred or voicemail."],
  reviewed: ["false", "true or false."],
};
const OTHER_KEYS = [
  ["va_wrong_key", "A wrong key"],
  ["", "No key"],
];

/** Calls the REST API as a client does, and shows what comes back. */
export function ConsolePage({ query }) {
  const { organizations } = useLive();
  if (organizations === undefined) return html`<${PageHead} title="API console" /><${Loading} />`;
  const first = organizations.find(({ id }) => id === query.get("org")) ?? organizations[0];
  return html`<${Console}
    key=${first.id}
    organizations=${organizations}
    firstKey=${first.api_key}
    asked=${query.get("path")}
  />`;
}

function Console({ organizations, firstKey, asked }) {
  const [path, setPath] = useState((ENDPOINTS.find(([known]) => known === asked) ?? ENDPOINTS[0])[0]);
  const [values, setValues] = useState({});
  const [apiKey, setApiKey] = useState(firstKey);
  const [result, setResult] = useState();
  const [error, setError] = useState();
  const [, about, parameters] = ENDPOINTS.find(([known]) => known === path);
  const url = urlOf(path, parameters, values);

  async function send(target) {
    try {
      setResult({ url: target, ...(await callApi(target, apiKey)) });
      setError(undefined);
    } catch (problem) {
      setError(problem);
    }
  }
  function submit(event) {
    event.preventDefault();
    void send(url);
  }
  function nextPage() {
    const next = { ...values, starting_after: result.value.data.at(-1).id };
    setValues(next);
    void send(urlOf(path, parameters, next));
  }

  const keys = [...organizations.map(({ api_key: key, name }) => [key, `${name} (${key})`]), ...OTHER_KEYS];
  return html`<${PageHead} title="API console" lead="The REST API, as a client with an API key sees it."
      ><a class="button" href=${hrefTo("/docs#rest")}><${Icon} name="book" size=${15} />API docs</a><//
    >
    <div class="console">
      <form onSubmit=${submit}>
        <${Panel} title="Request" aside="always GET">
          <div class="form">
            <${Segments}
              label="Endpoint"
              value=${path}
              options=${ENDPOINTS.map(([known]) => [known, known.replace("/api/v1", "")])}
              onChange=${setPath}
            />
            <p class="muted">${about}</p>
            <${SelectField} label="API key" value=${apiKey} onChange=${setApiKey} options=${keys} />
            ${parameters.map(
              (name) =>
                html`<${TextField}
                  key=${name}
                  label=${name}
                  value=${values[name] ?? ""}
                  placeholder=${HINTS[name][0]}
                  hint=${HINTS[name][1]}
                  onInput=${(value) => setValues({ ...values, [name]: value })}
                />`,
            )}
            <${Code} label="The same as curl" text=${apiCurl(url, apiKey)} />
          </div>
          <footer class="panel-foot">
            <${CopyButton} text=${() => apiCurl(url, apiKey)} label="Copy as curl" /><button
              type="submit"
              class="button accent"
            >
              <${Icon} name="next" size=${15} />Send
            </button>
          </footer>
        <//>
      </form>
      <${Panel}
        title="Answer"
        aside=${result && html`<${Chip} tone=${result.status < 400 ? "ok" : "bad"}>${result.status}<//> <span class="muted">${millisecondsOf(result.durationMs)}</span>`}
      >
        ${error && html`<${Problem} error=${error} />`}
        ${
          result
            ? html`<p class="muted foreign request-line">GET ${result.url}</p>
                ${result.status >= 400 && typeof result.value?.message === "string" && html`<div class="notice bad"><p>${result.value.message}</p></div>`}
                <${BodyView} text=${result.text} label="Answer body" />
                ${result.value?.has_more === true && html`<p><button type="button" class="button" onClick=${nextPage}>Next page</button></p>`}`
            : html`<${Empty} icon="console" title="Nothing sent yet"
                ><p>Choose an endpoint and press Send.</p><//
              >`
        }
      <//>
    </div>`;
}

function urlOf(path, parameters, values) {
  const query = new URLSearchParams();
  for (const name of parameters) if ((values[name] ?? "") !== "") query.set(name, values[name]);
  return query.size === 0 ? path : `${path}?${query}`;
}

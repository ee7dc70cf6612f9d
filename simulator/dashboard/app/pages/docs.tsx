import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiAnswer, callApi, readServed } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { type Docs as DocsOf, type OpenApi, readOpenApi } from "../core/openapi.ts";
import { hrefTo } from "../core/route.ts";
import { DELAY_WORDS } from "../core/schedule.ts";
import { apiCurl } from "../core/snippets.ts";
import { attempt } from "../core/toasts.ts";
import { millisecondsOf } from "../core/words.ts";
import { Button } from "../components/button.tsx";
import { Chip, TypeMark } from "../components/chips.tsx";
import { BodyView, Code } from "../components/code-view.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { DocsTable, Fields, Loaded, Marked, PageHead } from "../components/page.tsx";
import { SignatureDocs } from "../components/signature-docs.tsx";

type Chapter = [id: string, words: string, parts: [id: string, words: string][]];

/** The service, to read: its REST API, its webhooks, their signature, and every object (SPEC §4 to §9). */
export function DocsPage() {
  const loaded = useLoaded("docs", async () => readOpenApi(await readServed<OpenApi>("/openapi.json")));
  const { value: docs } = loaded;
  useEffect(() => {
    if (docs !== undefined && location.hash !== "")
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [docs === undefined, location.hash]);

  return (
    <>
      <PageHead title="API docs" lead={docs?.info.description}>
        <Button href="/openapi.json" target="_blank" rel="noreferrer" words="OpenAPI 3.1" />
      </PageHead>
      <Loaded from={loaded}>{(all) => <Docs docs={all} />}</Loaded>
    </>
  );
}

function Docs({ docs }: { docs: DocsOf }) {
  const { endpoints, events, objects, envelope } = docs;
  const chapters: Chapter[] = [
    ["rest", "REST API", endpoints.map(({ id, path }) => [id, path.replace("/api/v1", "")])],
    ["webhooks", "Webhooks", events.map(({ id, type }) => [id, type])],
    ["signature", "The signature", []],
    ["objects", "Objects", objects.map(({ name }) => [name, name])],
  ];
  return (
    <div class="docs stack hangs">
      <Contents chapters={chapters} />
      <article class="docs-text stack">
        <section id="rest" class="docs-part stack">
          <h2>REST API</h2>
          <p>
            Read-only, under <code>{location.origin}/api/v1</code>. Each request carries{" "}
            <code>Authorization: Bearer</code> and an API key, which belongs to one organization. Lists are
            pages, newest first: pass the id of the last item as <code>starting_after</code> until{" "}
            <code>has_more</code> is false.
          </p>
        </section>
        {endpoints.map((endpoint) => (
          <EndpointPart key={endpoint.id} endpoint={endpoint} />
        ))}
        <section id="webhooks" class="docs-part stack">
          <h2>Webhooks</h2>
          <p>
            An HTTP POST to each registered endpoint that has selected the type, or has selected none. A 2xx
            within 10 seconds delivers the event; anything else, redirects included, is a failure and is tried
            again, six times in all. The same event may arrive more than once: handle each <code>id</code>{" "}
            once.
          </p>
          <DocsTable
            label="The retry policy"
            head={["Attempt", "After the one before"]}
            rows={DELAY_WORDS.map((words, index) => [String(index + 1), words])}
          />
          <h3>The envelope</h3>
          <Fields label="Fields of the envelope" fields={envelope} />
        </section>
        {events.map((event) => (
          <EventPart key={event.id} event={event} />
        ))}
        <SignatureDocs />
        <section id="objects" class="docs-part stack">
          <h2>Objects</h2>
          <p>New fields are no breaking change: ignore those that you do not know.</p>
        </section>
        {objects.map(({ name, fields }) => (
          <section key={name} id={name} class="docs-part stack">
            <h3>{name}</h3>
            <Fields label={`Fields of ${name}`} fields={fields} />
          </section>
        ))}
      </article>
    </div>
  );
}

/** An endpoint of the REST API: its result, its parameters, and a sample call. */
function EndpointPart({ endpoint }: { endpoint: DocsOf["endpoints"][number] }) {
  const { path, summary, description, parameters, example, answer, errors } = endpoint;
  return (
    <Part id={endpoint.id} title={<code>GET {path}</code>}>
      <p>
        <b>{summary}.</b> <Marked text={description} />
      </p>
      {parameters.length > 0 && (
        <DocsTable
          label={`Parameters of ${path}`}
          head={["Parameter", "Meaning"]}
          rows={parameters.map(({ name, description: meaning }) => [`\`${name}\``, meaning])}
        />
      )}
      <h4>
        Answers 200, {answer?.isPage ? "a page of " : articleOf(answer?.reference)}
        <a href={`#${answer?.reference ?? ""}`}>{answer?.reference}</a>
      </h4>
      <Code copies json label={`Answer of ${path}`} text={JSON.stringify(example, null, 2)} />
      <DocsTable
        label={`Errors of ${path}`}
        head={["Status", "Meaning"]}
        rows={errors.map(({ status, description: meaning }) => [status, meaning])}
      />
      <TryIt path={path} names={parameters.map(({ name }) => name)} />
    </Part>
  );
}

/** Calls the REST API as a client with an API key does, and shows the answer, including errors. */
function TryIt({ path, names }: { path: string; names: string[] }) {
  const { organizations = [] } = useLive();
  const [values, setValues] = useState<Record<string, string>>({});
  const [chosenKey, setKey] = useState<string>();
  const [answer, setAnswer] = useState<ApiAnswer>();
  const keys = organizations.map(({ api_key: key, name }) => [key, `${name} (${key})`] as const);
  const key = chosenKey ?? keys[0]?.[0] ?? "";
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "")).toString();
  const url = query === "" ? path : `${path}?${query}`;
  async function send(event: Event) {
    event.preventDefault();
    await attempt(async () => setAnswer(await callApi(url, key)));
  }
  return (
    <form class="card box stack" onSubmit={send} aria-label={`Try ${path}`}>
      <div class="field-grid">
        <SelectField
          label="API key"
          value={key}
          onChange={setKey}
          options={[...keys, ["va_wrong_key", "A wrong key"], ["", "No key"]]}
        />
        {names.map((name) => (
          <TextField
            key={name}
            label={name}
            value={values[name] ?? ""}
            onInput={(value) => setValues({ ...values, [name]: value })}
          />
        ))}
      </div>
      <Code copies label={`${path} as curl`} text={apiCurl(url, key)} />
      <p class="flex">
        <Button icon="next" type="submit" kind="accent" words="Send" />
        {answer && <Chip tone={answer.status < 400 ? "ok" : "bad"}>{answer.status}</Chip>}
        {answer && millisecondsOf(answer.durationMs)}
      </p>
      {answer && <BodyView text={answer.text} label={`What ${path} answered`} />}
    </form>
  );
}

/** An event type: when it is sent, what it contains, and where to get one. */
function EventPart({ event: { id, type, summary, object, example } }: { event: DocsOf["events"][number] }) {
  const title = (
    <>
      <TypeMark type={type} />
      <code>{type}</code>
    </>
  );
  const href = hrefTo(`/trigger?type=${type}`);
  const trigger = <Button icon="trigger" kind="small" href={href} words="Trigger one" />;
  return (
    <Part id={id} title={title} aside={trigger}>
      <p>
        <b>{summary}.</b> <code>data.object</code> is {articleOf(object)}
        <a href={`#${object}`}>{object}</a>.
      </p>
      <Code copies json label={`Example of ${type}`} text={JSON.stringify(example, null, 2)} />
    </Part>
  );
}

type PartProps = { id: string } & Partial<Record<"title" | "aside" | "children", ComponentChildren>>;

function Part({ id, title, aside, children }: PartProps) {
  return (
    <section id={id} class="docs-part stack">
      <header class="flex wraps between">
        <h3 class="flex">{title}</h3>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** `a ` or `an `, for what follows it. */
function articleOf(name = ""): string {
  return /^[AEIOU]/.test(name) ? "an " : "a ";
}

function Contents({ chapters }: { chapters: Chapter[] }) {
  const link = ([id, words]: readonly [id: string, words: string, ...unknown[]]) => (
    <a class="muted" href={`#${id}`}>
      {words}
    </a>
  );
  return (
    <nav class="docs-contents small" aria-label="Contents">
      <ul>
        {chapters.map((chapter) => (
          <li key={chapter[0]}>
            <b>{link(chapter)}</b>{" "}
            <ul>
              {chapter[2].map((part) => (
                <li key={part[0]}>{link(part)}</li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </nav>
  );
}

import { apiCurl } from "../core/curl.ts";
import { useLive } from "../core/live.ts";
import type { EndpointDocs as EndpointDocsOf, EventDocs as EventDocsOf } from "../core/openapi.ts";
import { hrefTo } from "../core/route.ts";
import { Button } from "./button.tsx";
import { TypeMark } from "./chips.tsx";
import { Code } from "./code-view.tsx";
import { DocsTable, Marked } from "./table.tsx";

/** An endpoint of the REST API: what it answers, by which parameters, and where it can be tried. */
export function EndpointDocs({ endpoint }: { endpoint: EndpointDocsOf }) {
  const { organizations } = useLive();
  const {
    id,
    path,
    summary,
    description,
    parameters,
    example,
    answer = { reference: "", isPage: false },
    errors,
  } = endpoint;
  const key = organizations?.[0]?.api_key ?? "va_test_restaurant";
  return (
    <section id={id} class="docs-part stack">
      <header class="flex wraps between">
        <h3 class="flex">
          <code>GET {path}</code>
        </h3>
        <Button
          icon="console"
          kind="small"
          href={hrefTo(`/console?path=${encodeURIComponent(path)}`)}
          words="Try it"
        />
      </header>
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
      <Code label={`${path} as curl`} text={apiCurl(path, key)} />
      <h4>
        Answers 200, {answer.isPage ? "a page of " : articleOf(answer.reference)}
        <a href={`#${answer.reference}`}>{answer.reference}</a>
      </h4>
      <Code json label={`Answer of ${path}`} text={JSON.stringify(example, null, 2)} />
      <DocsTable
        label={`Errors of ${path}`}
        head={["Status", "Meaning"]}
        rows={errors.map(({ status, description: meaning }) => [status, meaning])}
      />
    </section>
  );
}

/** An event type: when it is sent, what it is about, and where one can be had. */
export function EventDocs({ event }: { event: EventDocsOf }) {
  const { id, type, summary, object, example } = event;
  return (
    <section id={id} class="docs-part stack">
      <header class="flex wraps between">
        <h3 class="flex">
          <TypeMark type={type} />
          <code>{type}</code>
        </h3>
        <Button icon="trigger" kind="small" href={hrefTo(`/trigger?type=${type}`)} words="Trigger one" />
      </header>
      <p>
        <b>{summary}.</b> <code>data.object</code> is {articleOf(object)}
        <a href={`#${object}`}>{object}</a>.
      </p>
      <Code json label={`Example of ${type}`} text={JSON.stringify(example, null, 2)} />
    </section>
  );
}

/** `a ` or `an `, for what follows it. */
function articleOf(name: string): string {
  return /^[AEIOU]/.test(name) ? "an " : "a ";
}

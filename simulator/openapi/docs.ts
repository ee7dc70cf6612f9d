import { z } from "zod";

const schemaSchema = z.looseObject({
  description: z.string().optional(),
  required: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })).optional(),
});

const operationSchema = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        description: z.string().optional(),
        schema: z.unknown(),
      }),
    )
    .optional(),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ example: z.unknown().optional() })) })
    .optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string(),
      content: z.record(z.string(), z.looseObject({ example: z.unknown().optional() })).optional(),
    }),
  ),
});

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), description: z.string() }),
  paths: z.record(z.string(), z.looseObject({ get: operationSchema })),
  webhooks: z.record(z.string(), z.looseObject({ post: operationSchema })),
  components: z.looseObject({ schemas: z.record(z.string(), schemaSchema) }),
});

type Operation = z.infer<typeof operationSchema>;

/** The only style that the page has, for its content security policy. */
export const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; }
th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; border-bottom: 1px solid #8884; }
pre { overflow: auto; padding: 0.75rem; background: #8881; border-radius: 6px; max-height: 24rem; }
`;

/** An OpenAPI document of ours as one page without scripts. */
export function renderDocs(openApi: unknown): string {
  const { info, paths, webhooks, components } = documentSchema.parse(openApi);
  const body = [
    `<h1>${escape(info.title)}</h1><p>${escape(info.description)}</p>`,
    `<p>As OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a></p>`,
    `<h2>Endpoints</h2>`,
    ...Object.entries(paths).map(([path, { get }]) => renderOperation(`GET ${path}`, get)),
    `<h2>Webhooks</h2>`,
    ...Object.entries(webhooks).map(([type, { post }]) => renderOperation(type, post)),
    `<h2>Objects</h2>`,
    ...Object.entries(components.schemas).map(([name, schema]) => renderObject(name, schema)),
  ];
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(info.title)}</title><style>${STYLE}</style></head>
<body><main>${body.join("\n")}</main></body>
</html>
`;
}

function renderOperation(title: string, operation: Operation): string {
  const parameters = operation.parameters ?? [];
  return `<section id="${escape(operation.operationId)}">
<h3><code>${escape(title)}</code></h3>
<p><strong>${escape(operation.summary)}.</strong> ${escape(operation.description)}</p>
${renderRows(
  ["Parameter", "In", "Meaning"],
  parameters.map(({ name, in: place, description = "" }) => [name, place, description]),
)}
${Object.values(operation.requestBody?.content ?? {})
  .map(renderExample)
  .join("")}
${renderRows(
  ["Status", "Meaning"],
  Object.entries(operation.responses).map(([status, { description }]) => [status, description]),
)}
${Object.values(operation.responses["200"]?.content ?? {})
  .map(renderExample)
  .join("")}
</section>`;
}

function renderObject(
  name: string,
  { properties = {}, required = [] }: z.infer<typeof schemaSchema>,
): string {
  const rows = Object.entries(properties).map(([field, schema]) => [
    field,
    typeName(schema),
    required.includes(field) ? "always" : "sometimes",
    schema.description ?? "",
  ]);
  return `<section id="${escape(name)}"><h3>${escape(name)}</h3>${renderRows(["Field", "Type", "There", "Meaning"], rows)}</section>`;
}

function typeName(schema: Readonly<Record<string, unknown>>): string {
  const { type, const: only, $ref: reference, anyOf } = schema;
  if (typeof only === "string") return `"${only}"`;
  if (typeof reference === "string") return reference.split("/").at(-1) ?? "";
  if (Array.isArray(anyOf)) return anyOf.map((option) => typeName(fieldSchema.parse(option))).join(" or ");
  return typeof type === "string" ? type : "not stated";
}

const fieldSchema = z.record(z.string(), z.unknown());

function renderRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const line = (cells: readonly string[], tag: "td" | "th") =>
    `<tr>${cells.map((cell) => `<${tag}>${escape(cell)}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${line(head, "th")}</thead><tbody>${rows.map((row) => line(row, "td")).join("")}</tbody></table>`;
}

function renderExample({ example }: { example?: unknown }): string {
  return example === undefined ? "" : `<pre tabindex="0">${escape(JSON.stringify(example, null, 2))}</pre>`;
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

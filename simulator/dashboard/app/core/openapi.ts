/** The parts of an OpenAPI document that are read here. */
export type OpenApi = {
  info: { description: string };
  paths: Record<string, { get: Operation }>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Schemas };
};
type Schemas = Record<string, Schema>;
type Schema = {
  $ref?: string;
  anyOf?: Schema[];
  const?: unknown;
  default?: string | number;
  description?: string;
  items?: Schema;
  maximum?: number;
  minimum?: number;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  type?: string | string[];
};
type Content = Record<string, { schema?: Schema; example?: unknown }>;
type Parameter = { name: string; in: string; description: string; schema: Schema };
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
};

export type Docs = ReturnType<typeof readOpenApi>;
export type FieldDocs = ReturnType<typeof fieldsOf>[number];

/**
 * The parts of the service's OpenAPI document for a page: the `endpoints`, the `events`, the `objects` with their fields, and
 * the fields of the `envelope` of every event.
 */
export function readOpenApi({ info, paths, webhooks, components: { schemas } }: OpenApi) {
  const endpoints = Object.entries(paths).map(([path, { get }]) => ({ ...operationOf(get, schemas), path }));
  const events = Object.entries(webhooks).map(([type, { post }]) => {
    const [content] = Object.values(post.requestBody?.content ?? {});
    const envelope = schemas[nameOf(content?.schema?.$ref)];
    return {
      ...operationOf(post, schemas),
      type,
      example: content?.example,
      object: nameOf(envelope?.properties?.["data"]?.properties?.["object"]?.$ref),
    };
  });
  const objects = Object.entries(schemas)
    .filter(([name]) => !name.endsWith("List") && !name.endsWith("Event"))
    .map(([name, schema]) => ({ name, fields: fieldsOf(schema) }));
  const [anyEvent] = Object.entries(schemas).filter(([name]) => name.endsWith("Event"));
  return { info, endpoints, events, objects, envelope: envelopeOf(fieldsOf(anyEvent?.[1] ?? {})) };
}

function operationOf(operation: Operation, schemas: Schemas) {
  const { operationId, summary, description, parameters = [], responses } = operation;
  const [good] = Object.values(responses["200"]?.content ?? {});
  return {
    id: operationId,
    summary,
    description,
    parameters: parameters.filter((parameter) => parameter.in === "query").map(parameterOf),
    example: good?.example,
    answer: answerOf(good?.schema, schemas),
    errors: Object.entries(responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => ({ status, description: response.description })),
  };
}

/** A parameter with its bounds in words. */
function parameterOf({ name, description, schema: { minimum, maximum, default: usual } }: Parameter) {
  const bounds = minimum === undefined ? "" : ` ${minimum} to ${maximum}.`;
  const absent = usual === undefined ? "" : ` ${usual} where absent.`;
  return { name, description: description + bounds + absent };
}

/** What it returns: `{ reference, isPage }`, an object or a page of them. */
function answerOf(schema: Schema | undefined, schemas: Schemas) {
  if (schema?.$ref === undefined) return undefined;
  const items = schemas[nameOf(schema.$ref)]?.properties?.["data"]?.items;
  return { reference: nameOf(items?.$ref ?? schema.$ref), isPage: items !== undefined };
}

/** The fields of an object: `{ name, type, reference, isAlways, note }`, where `reference` names another object. */
function fieldsOf({ properties = {}, required = [] }: Schema) {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    reference: referenceOf(schema),
    isAlways: required.includes(name),
    note: schema.description ?? formOf(schema.pattern ?? ""),
  }));
}

/** The meaning of a pattern, for those that the service has. */
function formOf(pattern: string): string {
  const [, prefix] = /^\^(\w+_)/.exec(pattern) ?? [];
  if (prefix !== undefined) return `Begins with \`${prefix}\``;
  if (pattern.startsWith("^\\+")) return "A phone number with its country code: `+12125550142`";
  return pattern.startsWith("^\\d{4}-") ? "UTC, to the second: `2026-01-31T18:05:09Z`" : "";
}

/** A type that varies between events gets the name of its common part. */
function envelopeOf(fields: FieldDocs[]): FieldDocs[] {
  const words: Record<string, Partial<FieldDocs>> = {
    id: { note: "evt_ and 32 hexadecimal characters; the same in each attempt" },
    type: { type: "string", note: "One of the event types below; others may be added" },
    data: { type: "{ object }", note: "What the event is about, as below" },
  };
  return fields.map((field) => ({ ...field, ...words[field.name] }));
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  return [schema.type ?? "not stated"].flat().join(" or ");
}

function referenceOf({ $ref = "", items }: Schema): string | undefined {
  return nameOf($ref || items?.$ref) || undefined;
}

function nameOf(reference = ""): string {
  return reference.split("/").at(-1) ?? "";
}

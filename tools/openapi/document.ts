import { z } from "zod";
import { type ZodOpenApiObject, type ZodOpenApiOperationObject, createDocument } from "zod-openapi";
import { EVENT_TYPES, type EventType, eventSchema } from "../../shared/events.ts";
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAXIMUM } from "../../simulator/domain/limits.ts";
import {
  agentSchema,
  bookingSchema,
  callSchema,
  errorSchema,
  listSchema,
  orderSchema,
  organizationSchema,
  voicemailSchema,
} from "../../shared/events.ts";
import {
  sampleAgent,
  sampleCall,
  sampleEnvelope,
  sampleOrganization,
  sampleVoicemail,
} from "../../shared/samples.ts";
import { EMITTED_WHEN } from "../../simulator/domain/event-type.ts";
import { ERROR_STATUS } from "../../simulator/domain/refused.ts";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import { ERROR_MEANINGS, FIELD_MEANINGS } from "./words.ts";

type Operation = ZodOpenApiOperationObject;

const pageSchema = {
  calls: listSchema(callSchema).required({ has_more: true }),
  voicemails: listSchema(voicemailSchema).required({ has_more: true }),
};
const agentsSchema = listSchema(agentSchema);

const eventSchemas = new Map(EVENT_TYPES.map((type) => [type, eventSchema(type)]));

/** The whole service as an OpenAPI 3.1 document: the four endpoints, and a webhook for each event type. */
export function createOpenApiDocument() {
  return createDocument(source, {
    override: ({ jsonSchema, zodSchema }) => {
      const meaning = FIELD_MEANINGS.get(zodSchema);
      if (meaning !== undefined) Object.assign(jsonSchema, meaning);
      // zod's keyword for a prefix, which only zod knows; the pattern says the same.
      if (jsonSchema.format === "starts_with") delete jsonSchema.format;
    },
  });
}

const source: ZodOpenApiObject = {
  openapi: "3.1.0",
  info: {
    title: "Voice Agent Service API",
    version: "v1",
    description:
      "A read-only view of an organization's AI phone agents, their calls and their voicemails, and signed webhooks for what happens. Adding fields to an answer is not a breaking change: ignore what you do not know.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/", description: "Where this document was read" }],
  security: [{ apiKey: [] }],
  tags: [
    { name: "organization", description: "Who the API key belongs to" },
    { name: "agents", description: "The AI phone agents" },
    { name: "calls", description: "Call history" },
    { name: "voicemails", description: "Messages that callers left" },
    { name: "events", description: "What is sent to the endpoints that customers register" },
  ],
  paths: {
    "/api/v1/me": {
      get: operation("getOrganization", "organization", {
        summary: "The organization tied to the API key",
        description: "Verifies that a key works and tells its scopes.",
        answer: { schema: organizationSchema, example: sampleOrganization },
      }),
    },
    "/api/v1/agents": {
      get: operation("listAgents", "agents", {
        summary: "Every agent of the organization",
        description: "Typically one.",
        answer: { schema: agentsSchema, example: { object: "list", data: [sampleAgent] } },
      }),
    },
    "/api/v1/calls": {
      get: operation("listCalls", "calls", {
        summary: "Call history, newest first",
        description: pagingRules("call"),
        query: z.object({
          ...pageParameters("call"),
          outcome: z.string().optional().meta({
            description: "Only calls with this outcome. Values seen: voicemail, transferred, completed.",
            example: "completed",
          }),
        }),
        answer: {
          schema: pageSchema.calls,
          example: { object: "list", data: [sampleCall], has_more: false },
        },
      }),
    },
    "/api/v1/voicemails": {
      get: operation("listVoicemails", "voicemails", {
        summary: "Voicemails, newest first",
        description: pagingRules("voicemail"),
        query: z.object({
          ...pageParameters("voicemail"),
          reviewed: z.boolean().optional().meta({
            description: "true for reviewed voicemails, false for unread ones.",
            example: false,
          }),
        }),
        answer: {
          schema: pageSchema.voicemails,
          example: { object: "list", data: [sampleVoicemail], has_more: false },
        },
      }),
    },
  },
  webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: webhook(type) }])),
  components: {
    securitySchemes: {
      apiKey: { type: "http", scheme: "bearer", description: "Authorization: Bearer <API_KEY>" },
    },
    schemas: {
      Organization: organizationSchema,
      Agent: agentSchema,
      Call: callSchema,
      Voicemail: voicemailSchema,
      Order: orderSchema,
      Booking: bookingSchema,
      AgentList: agentsSchema,
      CallList: pageSchema.calls,
      VoicemailList: pageSchema.voicemails,
      Error: errorSchema,
      ...Object.fromEntries([...eventSchemas].map(([type, schema]) => [nameOf(type), schema])),
    },
  },
};

function pagingRules(kind: string): string {
  return `Pages by cursor: pass the id of the last ${kind} of a page as starting_after and keep the other parameters; stop when has_more is false.`;
}

function pageParameters(kind: string) {
  return {
    limit: z.int().min(1).max(LIST_LIMIT_MAXIMUM).default(LIST_LIMIT_DEFAULT).optional().meta({
      description: "Items on the page.",
    }),
    starting_after: z
      .string()
      .optional()
      .meta({ description: `The id of the last ${kind} of the previous page.` }),
  };
}

function operation(
  operationId: string,
  tag: string,
  about: {
    summary: string;
    description: string;
    query?: z.ZodObject;
    answer: { schema: z.ZodType; example: unknown };
  },
): Operation {
  return {
    operationId,
    tags: [tag],
    summary: about.summary,
    description: about.description,
    ...(about.query && { requestParams: { query: about.query } }),
    responses: {
      "200": {
        description: about.summary,
        content: { "application/json": { schema: about.answer.schema, example: about.answer.example } },
      },
      ...(about.query && { "400": failure("invalid_cursor", "invalid_request") }),
      "401": failure("unauthorized"),
      "500": failure("server_error"),
    },
  };
}

function failure(...codes: (keyof typeof ERROR_STATUS)[]) {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_MEANINGS[code]}`).join(" · "),
    content: {
      "application/json": {
        schema: errorSchema,
        examples: Object.fromEntries(
          codes.map((code) => [
            code,
            { summary: `HTTP ${ERROR_STATUS[code]}`, value: { error: code, message: ERROR_MEANINGS[code] } },
          ]),
        ),
      },
    },
  };
}

function webhook(type: EventType): Operation {
  return {
    operationId: `on${nameOf(type)}`,
    tags: ["events"],
    summary: EMITTED_WHEN[type].replace(/\.$/, ""),
    description:
      "Answer 2xx within 10 seconds and do heavy work afterwards. The same event may arrive more than once: de-duplicate by id. After 6 failed attempts the delivery is dead.",
    security: [],
    requestParams: {
      header: z.object({
        [SIGNATURE_HEADER]: z.string().meta({
          description:
            "t=<unix_seconds>,v1=<hex_digest>: the HMAC-SHA256 of t, a period and the raw body, keyed with the signing secret.",
          example: `t=1769882709,v1=${"5e".repeat(32)}`,
        }),
      }),
    },
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: eventSchemas.get(type) ?? {}, example: sampleEnvelope(type) },
      },
    },
    responses: {
      "2XX": { description: "Delivered: no further attempts." },
      default: { description: "Failed: the next attempt follows after the delay of the retry policy." },
    },
  };
}

/** `CallCompletedEvent` for `call.completed`. */
function nameOf(type: EventType): string {
  return `${type
    .split(".")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")}Event`;
}

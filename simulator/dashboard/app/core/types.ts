import type { Agent, Call, Voicemail } from "../../../../shared/events.ts";
import type * as events from "../../../control/events.ts";
import type { listenersView } from "../../../control/endpoints.ts";
import type * as scenarios from "../../../control/world.ts";
import type { verificationView } from "../../../control/reports.ts";
import type * as world from "../../../control/world.ts";
import type * as views from "../../../control/views.ts";
import type { Probe } from "../../../processes/receiver-probe.ts";

/** The answers of the control API, by the types of the functions that make them. */
export type About = ReturnType<typeof world.aboutView>;
export type Answers = ReturnType<typeof views.answersView>;
export type Clock = ReturnType<typeof views.clockView>;
export type ClockMode = Clock["mode"];
export type Delivery = ReturnType<typeof views.deliveryView>;
export type DeliveryDetail = ReturnType<typeof views.deliveryDetailView>;
export type DeliveryState = Delivery["state"];
export type Attempt = Delivery["attempts"][number];
export type AttemptDetail = DeliveryDetail["attempts"][number];
export type VerdictResult = Delivery["verdict"]["result"];
export type Due = ReturnType<typeof views.dueView>;
export type Emitted = ReturnType<typeof views.emittedView>;
export type Endpoint = ReturnType<typeof views.endpointView>;
export type EndpointWithSecret = Endpoint & { secret: string };
export type EventDetail = ReturnType<typeof events.eventDetailView>;
export type EventRecord = ReturnType<typeof views.eventView>;
export type EventTypeForm = ReturnType<typeof events.eventTypeView>;
export type History = ReturnType<typeof views.historyView>;
export type Listeners = ReturnType<typeof listenersView>;
export type Listener = Listeners["data"][number];
export type Organization = ReturnType<typeof world.organizationsView>[number];
export type Job = ReturnType<typeof views.jobView>;
export type DeliveryCount = ReturnType<typeof views.countView>;
export type Reading = ReturnType<typeof world.readingsView>[number];
export type Traffic = ReturnType<typeof world.trafficView>;
export type Verification = ReturnType<typeof verificationView>;
export type { Probe };

export type Check = Verification["checks"][number];

export type List<Item> = { data: Item[] };
export type Page<Item> = List<Item> & { has_more: boolean; next_cursor: string | null };
export type CheckedUrl = { ok: boolean; message?: string; is_listening?: boolean | null };

/** The answer to a GET of each path of the control API. */
export interface Gets {
  "/about": About;
  "/clock": Clock;
  "/clock/ahead": List<Due>;
  "/endpoints": List<Endpoint>;
  "/event-types": List<EventTypeForm>;
  "/faults": List<ReturnType<typeof world.faultsView>[number]>;
  "/jobs": List<Job>;
  "/listeners": Listeners;
  "/organizations": List<Organization>;
  "/readings": List<Reading>;
  "/scenarios": List<ReturnType<typeof scenarios.scenarioView>>;
  "/traffic": Traffic;
  "/verification": { verification: Verification | null };
  [path: `/counts${string}`]: DeliveryCount;
  [path: `/deliveries?${string}`]: Page<Delivery>;
  [path: `/deliveries/${string}`]: DeliveryDetail;
  [path: `/history${string}`]: History;
  [path: `/endpoints/${string}/answers`]: Answers;
  [path: `/events?${string}`]: Page<EventRecord>;
  [path: `/events/${string}`]: EventDetail;
}

/** The answer to a POST. */
export interface Posts {
  "/clock/advance": Clock;
  "/deliveries/resend": Job | DeliveryCount;
  [path: `/jobs/${string}/cancel`]: Job;
  "/endpoints": EndpointWithSecret;
  "/endpoints/check": CheckedUrl;
  "/events": Emitted;
  "/listeners/probe": Probe;
  "/replay": Emitted;
  "/reset": unknown;
  "/verification/cancel": unknown;
  [path: `/deliveries/${string}/attempt`]: Delivery;
  [path: `/deliveries/${string}/resend`]: Delivery;
  [path: `/deliveries/${string}/sign`]: { url: string; headers: Record<string, string>; body: string };
  [path: `/endpoints/${string}/rotate`]: EndpointWithSecret;
  [path: `/endpoints/${string}/test`]: Emitted;
  [path: `/endpoints/${string}/verify`]: Verification;
  [path: `/scenarios/${string}`]: ReturnType<typeof scenarios.storyView>;
}

/** The answer to a PATCH. */
export interface Patches {
  "/clock": Clock;
  "/readings": unknown;
  "/traffic": Traffic;
  [path: `/endpoints/${string}`]: Endpoint;
}

/** The data of each stream message, by its name. */
export interface Messages {
  clock: Clock;
  delivery: Delivery;
  endpoint: Endpoint;
  endpoint_deleted: { id: string };
  event: EventRecord;
  job: Job;
  reset: unknown;
  resync: unknown;
  verification: Verification;
}

/** The answers of the REST API by path. */
export interface Resources {
  "/api/v1/agents": Agent;
  "/api/v1/calls": Call;
  "/api/v1/voicemails": Voicemail;
}
export type { Agent, Call, Voicemail };

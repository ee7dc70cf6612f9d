import type {
  Agent,
  Booking,
  Call,
  Envelope,
  EventObject,
  EventType,
  Order,
  Organization,
  Voicemail,
} from "./events.ts";

/** One fixed, valid object of every kind, for tests, documentation and dry runs. They refer to each other. */

export const sampleOrganization = {
  object: "organization",
  id: "org_5f2c81d0a7b94e63",
  name: "Trattoria Aurora",
  industry: "restaurant",
  subscription_tier: "growth",
  subscription_status: "active",
  created_at: "2025-09-01T08:00:00Z",
  api_scopes: ["read"],
} satisfies Organization;

export const sampleAgent = {
  object: "agent",
  id: "ag_3b0c6a94d1e84f27",
  name: "Sofia",
  persona_id: "persona_warm_host",
  voice_id: "voice_sofia",
  phone_number: "+12125550100",
  status: "active",
  greeting_style: "casual_friendly",
  created_at: "2025-09-01T08:05:00Z",
  updated_at: "2026-01-12T10:30:00Z",
} satisfies Agent;

export const sampleCall = {
  object: "call",
  id: "call_9d4e7f10c2ab4835",
  agent_id: sampleAgent.id,
  phone: "+12125550142",
  duration_sec: 94,
  outcome: "completed",
  transcript:
    "Agent: Trattoria Aurora, this is Sofia.\nCaller: Hi, are you open on Sunday?\nAgent: Yes, from noon.",
  recording_url: "http://localhost:4010/recordings/call_9d4e7f10c2ab4835.mp3",
  transferred: false,
  transfer_to: null,
  transfer_succeeded: null,
  detected_language: "en",
  created_at: "2026-01-31T18:05:09Z",
} satisfies Call;

export const sampleTransferredCall = {
  ...sampleCall,
  id: "call_1c6b2e85f09d4a73",
  outcome: "transferred",
  transcript:
    "Agent: Trattoria Aurora, this is Sofia.\nCaller: Could I speak to the manager?\nAgent: One moment.",
  recording_url: "http://localhost:4010/recordings/call_1c6b2e85f09d4a73.mp3",
  transferred: true,
  transfer_to: "+12125550101",
  transfer_succeeded: true,
} satisfies Call;

export const sampleVoicemail = {
  object: "voicemail",
  id: "vm_70a3d2c95be146f8",
  call_id: "call_e8f1a4630bd24c97",
  phone: "+12125550177",
  customer_name: "Jordan Ellis",
  message_text: "Hi, please call me back about a table for twelve on Friday.",
  reason: "after_hours",
  reviewed: false,
  callback_made: false,
  notes: null,
  created_at: "2026-01-31T23:41:30Z",
} satisfies Voicemail;

/** The fields besides `object` are invented: the service does not publish them, so no code may rely on them. */
const sampleOrder = {
  object: "order",
  id: "order_4e91c7d25ab84f06",
  call_id: sampleCall.id,
  items: [{ name: "Margherita", quantity: 2, unit_price: "11.50" }],
  total: "23.00",
} satisfies Order;

const sampleBooking = {
  object: "booking",
  id: "booking_b6d03f58e1274ca9",
  call_id: sampleCall.id,
  service: "Boiler check",
  starts_at: "2026-02-03T09:00:00Z",
} satisfies Booking;

/** `data.object` of each event type. */
export const sampleObjects = {
  "call.completed": sampleCall,
  "call.transferred": sampleTransferredCall,
  "voicemail.created": sampleVoicemail,
  "order.created": sampleOrder,
  "booking.created": sampleBooking,
} satisfies { [Type in EventType]: EventObject<Type> };

/** A whole envelope of `type`. Give each its own `id` if you send several. */
export function sampleEnvelope(type: EventType, overrides: Partial<Envelope> = {}): Envelope {
  return {
    id: "evt_0123456789abcdef0123456789abcdef",
    type,
    created: 1_769_882_709,
    api_version: "v1",
    data: { object: sampleObjects[type] },
    org_id: sampleOrganization.id,
    ...overrides,
  };
}

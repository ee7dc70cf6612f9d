import "./app.tsx";
import { offerLaterPages } from "./core/later.ts";
import { DeliveryView } from "./components/delivery-view.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { EndpointsPage } from "./pages/endpoints.tsx";
import { EventPage } from "./pages/event.tsx";
import { ReadingsPage } from "./pages/readings.tsx";
import { TriggerPage } from "./pages/trigger.tsx";
import { VerifyPage } from "./pages/verify.tsx";
import { WorldPage } from "./pages/world.tsx";

offerLaterPages({
  Delivery: DeliveryView,
  pages: [
    [/^\/events\/([^/]+)$/, (id = "") => <EventPage key={id} id={id} />],
    [/^\/endpoints(?:\/([^/]+))?$/, (id, query) => <EndpointsPage key={id} id={id} query={query} />],
    [/^\/trigger$/, (_, query) => <TriggerPage query={query} />],
    [/^\/world(?:\/(calls|voicemails|agents))?$/, (section, query) => <WorldPage {...{ section, query }} />],
    [/^\/docs$/, () => <DocsPage />],
    [/^\/readings$/, () => <ReadingsPage />],
    [/^\/verify$/, () => <VerifyPage />],
  ],
});

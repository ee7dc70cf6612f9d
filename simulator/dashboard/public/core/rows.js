/**
 * The list as rows of one height: deliveries, newest first; those of one event that stand together under a row for the
 * event; and events that went to nobody. Each row has a `key`.
 */
export function rowsOf({ ids, byId, lonely }) {
  const rows = [];
  const events = [...lonely.values()].toReversed();
  let nextEvent = 0;
  const addLonelyAfter = (createdAt) => {
    while (nextEvent < events.length && events[nextEvent].created_at > createdAt) {
      const event = events[nextEvent++];
      rows.push({ kind: "lonely", key: event.id, event });
    }
  };
  for (let index = 0; index < ids.length;) {
    const first = byId.get(ids[index]);
    let end = index + 1;
    while (end < ids.length && byId.get(ids[end]).event_id === first.event_id) end++;
    addLonelyAfter(first.created_at);
    const isGrouped = end - index > 1;
    if (isGrouped) rows.push({ kind: "event", key: first.event_id, delivery: first, count: end - index });
    for (; index < end; index++) {
      const delivery = byId.get(ids[index]);
      rows.push({ kind: "delivery", key: delivery.id, delivery, isGrouped });
    }
  }
  addLonelyAfter("");
  return rows;
}

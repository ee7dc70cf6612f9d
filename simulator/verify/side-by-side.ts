/** Works on `items` in order, `atOnce` of them at a time; the results have the same order. */
export async function sideBySide<Item, Result>(
  atOnce: number,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const next = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of next) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return results;
}

/** Whether two JSON values say the same, whatever the order of the keys in their objects. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return left === right;
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [own, other] = [Object.entries(left), new Map<string, unknown>(Object.entries(right))];
  return (
    own.length === other.size &&
    own.every(([key, value]) => other.has(key) && isSameJson(value, other.get(key)))
  );
}

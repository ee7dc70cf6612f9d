/** Rejects with the signal's reason when it is aborted, and stays pending otherwise: for a race against a deadline. */
export async function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = (): void => {
      const reason: unknown = signal.reason;
      reject(reason instanceof Error ? reason : new Error(String(reason)));
    };
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}

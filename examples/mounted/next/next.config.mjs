export default {
  // The package starts a thread and a process from its own files, which a bundle does not contain.
  serverExternalPackages: ["voice-agent-webhook-kit"],
};

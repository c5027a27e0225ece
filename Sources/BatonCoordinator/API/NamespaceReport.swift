package import BatonModel

/// One namespace of the fleet, with what it has and its quotas.
package struct NamespaceReport: Hashable, Sendable {
  package var namespace: Namespace
  /// The slot-seconds that were used, of which old ones count less; nil if the fleet has no namespaces.
  package var use: Double?
  /// The requests that are scheduled or ready.
  package var pending: Int
  /// The launches that run, with the slots and GPUs that they hold.
  package var running: Int
  package var slots: Int
  package var gpus: Int
  /// The launch time of this day, with that of the launches that run.
  package var usedToday: Duration

  package init(
    _ namespace: Namespace, use: Double? = nil, pending: Int = 0, running: Int = 0, slots: Int = 0, gpus: Int = 0,
    usedToday: Duration = .zero
  ) {
    (self.namespace, self.use, self.pending, self.running) = (namespace, use, pending, running)
    (self.slots, self.gpus, self.usedToday) = (slots, gpus, usedToday)
  }
}

/// All namespaces of the fleet.
package struct NamespaceReports: Hashable, Sendable {
  package var namespaces: [NamespaceReport]
  /// After this time a use counts half.
  package var useHalfLife: Duration

  package init(_ namespaces: [NamespaceReport] = [], useHalfLife: Duration = Namespaces().useHalfLife) {
    (self.namespaces, self.useHalfLife) = (namespaces, useHalfLife)
  }
}

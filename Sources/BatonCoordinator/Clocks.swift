package import BatonModel
package import BatonStore
package import BatonTelemetry

/// Where time comes from; tests bring their own.
package struct Clocks: Sendable {
  package var now: @Sendable () -> Now
  package var sleep: @Sendable (Duration) async throws -> Void
  /// Names the boot of the machine that the instants of `now` belong to; empty if nobody knows.
  package var boot: @Sendable () -> String

  package init(
    now: @escaping @Sendable () -> Now, sleep: @escaping @Sendable (Duration) async throws -> Void,
    boot: @escaping @Sendable () -> String = { "" }
  ) {
    self.now = now
    self.sleep = sleep
    self.boot = boot
  }
}

/// How the coordinator behaves; every number is a key of `coordinator.yaml`.
package struct CoordinatorSettings: Sendable {
  /// How long a worker may be silent before its launches are lost.
  package var leaseTerm: Duration
  /// The host of the worker in this process (`run`, `up`), whose lease ends with the process; nil if there is none.
  package var embeddedHost: HostName?
  /// Ends at the first write that the disk has no room for, rather than waiting for somebody to make room: for `run`,
  /// where a person sits before it.
  package var endsOnFullDisk = false
  /// Identifiers that may be defined at all; empty means every one.
  package var permittedIdentifiers: [IdentifierPattern]
  package var retention: RetentionLimits
  /// Workers that may be connected at once.
  package var workers = 10_000
  /// The key of the store's folder, by which workers' receipts are known to be of this store; nil draws one.
  package var receiptKey: [UInt8]?
  /// The key was not there, and was just made.
  package var isReceiptKeyNew = false
  package var version: String
  /// Which requests are traced.
  package var sampler: Sampler
  /// Where their spans go; nil if they go nowhere.
  package var spans: SpanDelivery?

  package init(
    leaseTerm: Duration = .seconds(15), embeddedHost: HostName? = nil, permittedIdentifiers: [IdentifierPattern] = [],
    retention: RetentionLimits = RetentionLimits(), version: String = BatonVersion.current,
    sampler: Sampler = Sampler(), spans: SpanDelivery? = nil
  ) {
    self.sampler = sampler
    self.spans = spans
    self.leaseTerm = leaseTerm
    self.embeddedHost = embeddedHost
    self.permittedIdentifiers = permittedIdentifiers
    self.retention = retention
    self.version = version
  }
}

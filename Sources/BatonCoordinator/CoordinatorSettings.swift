package import BatonModel
package import BatonStore
package import BatonTelemetry

/// How the coordinator behaves; every number is a key of `coordinator.yaml`.
package struct CoordinatorSettings: Sendable {
  /// How long a worker may be silent before its launches are lost.
  package var leaseTerm: Duration
  /// The host of the worker in this process (`run`, `up`), whose lease ends with the process; nil if the process has
  /// no worker.
  package var embeddedHost: HostName?
  /// Ends the coordinator at the first write for which the disk has no room. If it is false, the coordinator waits
  /// until a person makes room. `run` sets it, because a person waits for its result.
  package var endsOnFullDisk = false
  /// The identifiers that may be defined; empty means all of them.
  package var permittedIdentifiers: [IdentifierPattern]
  package var retention: RetentionLimits
  /// How the dispatcher chooses among hosts and among requests.
  package var rules = DispatchRules()
  /// The most workers that may be connected at once.
  package var workers = 10_000
  /// The key in the store's folder that signs the receipts of this store; nil draws a random key.
  package var receiptKey: [UInt8]?
  /// The key did not exist and has just been made.
  package var isReceiptKeyNew = false
  /// The fleet's authority and the certificates of its hosts; nil if the coordinator serves only its own machine.
  package var identities: HostIdentities?
  /// How much a credential and an address may ask for.
  package var rates = CallRates()
  /// How long the rows of the audit log are kept in the store, on the wall clock. Older rows are moved to files.
  package var auditFor = Duration.seconds(365 * 86_400)
  /// Where old rows of the audit log are moved to; nil keeps them in the store.
  package var auditFolder: String?
  package var version: String
  /// Which requests are traced.
  package var sampler: Sampler
  /// Who is sent notifications, and how.
  package var notifications = NotificationSettings()
  /// Whether a definition that names another receiver is refused. `baton run` has no receivers, and runs it.
  package var knowsReceivers = false
  /// Where the spans of traced requests are sent; nil if they are not sent.
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

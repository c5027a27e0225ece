import BatonAPI
import BatonBase
import BatonCommands
import BatonConsole
import BatonCoordinator
import BatonIdentity
import BatonModel
import BatonSettings
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of a coordinator from its flags, its environment and its YAML file, in this order of precedence.
struct CoordinatorSetup {
  var dataFolder: String
  /// Where it listens. HTTP and operators are `nil` if their setting is `off`.
  var addresses: CoordinatorServer.Addresses
  /// What HTTPS shows in place of the fleet's own certificate; `nil` if it shows that one.
  var ownCertificate: OwnCertificate.Files?
  /// What the console may do: over HTTPS, and in 'baton up'.
  enum ConsoleMode: String, CaseIterable { case on, readOnly, off }
  var console: ConsoleMode
  /// How long the certificates of hosts are valid.
  var certificateLifetime: Duration
  var settings: CoordinatorSettings
  /// The address of the PostgreSQL database that has the store; `nil` if the store is in the data folder.
  var postgres: String?
  var limits: StoreLimits
  var logLevel: Logger.Level

  static let keys = [
    "audit.for", "certificates.host", "console", "data", "http", "https", "leaseTerm", "limits.ageAfter",
    "limits.checkpointBytes",
    "limits.pending", "limits.pendingPerDefinition", "limits.reserveAfter", "limits.transferQuiet",
    "limits.useHalfLife", "limits.waitingWrites", "listen", "logLevel", "losses.backoff", "losses.quarantineAfter",
    "namespaces", "operators", "permittedIdentifiers", "placement", "rates.changes", "rates.failures",
    "rates.handshakes", "rates.joins", "rates.rejoins", "rates.submissions", "retention.conditions", "retention.count",
    "retention.ended", "retention.hosts", "retention.spanCount", "retention.spans", "retention.submissions", "store",
    "tls.certificate", "tls.key",
  ]

  /// Reads the settings.
  /// - Parameter defaultFolder: the name of the data folder below `UserFolders.state`, unless flags or settings name
  ///   another folder.
  /// - Throws: `SettingsError` with everything that is wrong in the settings; `HostPortError` if an address in the
  ///   flags is wrong.
  init(_ options: CoordinatorOptions, environment: [String: String], defaultFolder: String) async throws {
    let file = try await Settings(
      file: options.configurationFile ?? environment["BATON_CONFIG"], environment: environment,
      keys: Self.keys + Self.notifyKeys,
      records: ["namespaces", "receivers"])
    let state = UserFolders.state { environment[$0] }
    let folder = options.dataFolder ?? file.text("data") ?? state.map { $0 + "/" + defaultFolder }
    if folder == nil { file.note("data", UserFolders.noState) }
    dataFolder = folder ?? ""
    addresses = CoordinatorServer.Addresses(
      workers: try Self.address(options.listen, "listen", file) ?? HostPort(parsing: "127.0.0.1:7420"),
      operators: try Self.remote(options.operators, "operators", file))
    let isOff = (options.http ?? file.text("http")) == "off"
    addresses.http = isOff ? nil : try Self.address(options.http, "http", file) ?? HostPort(parsing: "127.0.0.1:7421")
    addresses.https = try Self.remote(options.https, "https", file)
    switch (file.text("tls.certificate"), file.text("tls.key")) {
    case (nil, nil): break
    case (let certificate?, let key?): ownCertificate = OwnCertificate.Files(certificate: certificate, key: key)
    case (_?, nil): file.note("tls.certificate", "needs tls.key too, the file with its key")
    case (nil, _?): file.note("tls.key", "needs tls.certificate too, the file with the certificate and its issuers")
    }
    let mode = file.text("console") ?? "on"
    console = ConsoleMode(rawValue: mode) ?? .on
    if ConsoleMode(rawValue: mode) == nil { file.note("console", "must be 'on', 'readOnly' or 'off', not '\(mode)'") }
    certificateLifetime = file.duration("certificates.host") ?? FleetAuthority.hostLifetime
    if !(Duration.seconds(60)...Duration.seconds(90 * 86_400)).contains(certificateLifetime) {
      file.note("certificates.host", "must be from 1m to 90d (hosts renew their certificate after half of it)")
    }
    settings = CoordinatorSettings()
    settings.leaseTerm = options.leaseTerm ?? file.duration("leaseTerm") ?? settings.leaseTerm
    if settings.leaseTerm < .milliseconds(500) || settings.leaseTerm > .seconds(3600) {
      file.note("leaseTerm", "must be from 500ms to 1h (workers renew their lease three times in each term)")
    }
    settings.permittedIdentifiers = (file.list("permittedIdentifiers") ?? []).compactMap { text in
      let pattern = IdentifierPattern(text)
      if pattern == nil {
        file.note("permittedIdentifiers", "'\(text)' is not an identifier, nor one followed by '.*'")
      }
      return pattern
    }
    postgres = file.text("store").flatMap { $0 == "sqlite" ? nil : $0 }
    if let postgres, !postgres.hasPrefix("postgres://"), !postgres.hasPrefix("postgresql://") {
      // The text is not repeated: it may contain a password.
      file.note("store", "must be 'sqlite', or the address of a database: postgres://USER@HOST/DATABASE")
    }
    limits = Self.limits(file)
    settings.rules = Self.rules(file)
    settings.rules.namespaces = Self.namespaces(file)
    limits.namespaces = settings.rules.namespaces
    let receivers: Set<ReceiverName>
    (settings.notifications, receivers) = Self.notifications(file)
    settings.knowsReceivers = true
    limits.notify = Self.notify(file, receivers)
    settings.retention = Self.retention(file)
    settings.rates = Self.rates(file)
    settings.auditFolder = dataFolder + "/audit"
    settings.auditFor = file.duration("audit.for") ?? settings.auditFor
    if settings.auditFor < .seconds(86_400) { file.note("audit.for", "must be at least 1d") }
    let level = file.text("logLevel") ?? "notice"
    logLevel = Logger.Level(rawValue: level) ?? .notice
    if Logger.Level(rawValue: level) == nil {
      let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      file.note("logLevel", "'\(level)' is not a log level; use one of: \(levels)")
    }
    try file.finish()
  }

  /// An address from its flag, else from its setting; `nil` if neither is given, or if the setting is wrong, which is
  /// noted. Throws `HostPortError` if the flag is wrong.
  private static func address(_ flag: String?, _ key: String, _ file: Settings) throws -> HostPort? {
    if let flag { return try HostPort(parsing: flag) }
    guard let text = file.text(key) else { return nil }
    do {
      return try HostPort(parsing: text)
    } catch {
      file.note(key, "\(error)")
      return nil
    }
  }

  /// An address for other machines; `nil` if it is `off` or not given.
  private static func remote(_ flag: String?, _ key: String, _ file: Settings) throws -> HostPort? {
    (flag ?? file.text(key)) == "off" ? nil : try address(flag, key, file)
  }

  private static func limits(_ file: Settings) -> StoreLimits {
    var limits = StoreLimits()
    limits.pending = file.number("limits.pending", in: 1...100_000_000) ?? limits.pending
    limits.pendingPerDefinition =
      file.number("limits.pendingPerDefinition", in: 1...100_000_000) ?? limits.pendingPerDefinition
    limits.checkpointBytes = file.number("limits.checkpointBytes", in: 256...(1 << 20)) ?? limits.checkpointBytes
    limits.waitingWrites = file.number("limits.waitingWrites", in: 64...1_000_000) ?? limits.waitingWrites
    limits.transferLaunches.quiet = file.duration("limits.transferQuiet") ?? limits.transferLaunches.quiet
    let losses = limits.losses
    limits.losses.quarantineAfter =
      file.number("losses.quarantineAfter", in: 1...100) ?? losses.quarantineAfter
    limits.losses.backoff = file.duration("losses.backoff") ?? losses.backoff
    if limits.losses.backoff > .seconds(3600) { file.note("losses.backoff", "is at most 1h") }
    return limits
  }

  private static func rules(_ file: Settings) -> DispatchRules {
    var rules = DispatchRules()
    if let text = file.text("placement") {
      if let placement = Placement(rawValue: text) { rules.placement = placement }
      if Placement(rawValue: text) == nil {
        file.note("placement", "must be 'pack' or 'spread', not '\(text)'")
      }
    }
    if let ageAfter = file.duration("limits.ageAfter") { rules.ageAfter = ageAfter == .zero ? nil : ageAfter }
    if let after = file.duration("limits.reserveAfter") { rules.reserveAfter = after == .zero ? nil : after }
    return rules
  }

  private static func retention(_ file: Settings) -> RetentionLimits {
    var retention = RetentionLimits()
    retention.endedFor = file.duration("retention.ended") ?? retention.endedFor
    retention.hostsFor = file.duration("retention.hosts") ?? retention.hostsFor
    retention.conditionsFor = file.duration("retention.conditions") ?? retention.conditionsFor
    retention.endedCount = file.number("retention.count", in: 0...100_000_000) ?? retention.endedCount
    retention.submissionsFor = file.duration("retention.submissions") ?? retention.submissionsFor
    retention.spansFor = file.duration("retention.spans") ?? retention.spansFor
    retention.spanCount = file.number("retention.spanCount", in: 0...100_000_000) ?? retention.spanCount
    return retention
  }

  private static func rates(_ file: Settings) -> CallRates {
    var rates = CallRates()
    rates.submissions = file.number("rates.submissions", in: 1...1_000_000) ?? rates.submissions
    rates.changes = file.number("rates.changes", in: 1...1_000_000) ?? rates.changes
    rates.failures = file.number("rates.failures", in: 1...1_000_000) ?? rates.failures
    rates.handshakes = file.number("rates.handshakes", in: 1...1_000_000) ?? rates.handshakes
    rates.joins = file.number("rates.joins", in: 1...1_000_000) ?? rates.joins
    rates.rejoins = file.number("rates.rejoins", in: 1...1_000_000) ?? rates.rejoins
    return rates
  }

  /// The fleet's identities, which are in the data folder. The first start makes the authority.
  func identities() throws -> HostIdentities {
    try HostIdentities(
      authorities: try FleetAuthorities.own(dataFolder: dataFolder, at: SystemClocks.date()), dataFolder: dataFolder,
      lifetime: certificateLifetime)
  }

  /// Creates the server of a coordinator, and its token in the data folder. Call it while the store is open: the
  /// store's lock then keeps other coordinators out of the data folder.
  /// - Parameter traceURL: the address of a trace in the tracing backend, with `{traceId}` in place of its id.
  func server(
    for coordinator: Coordinator, metrics: MetricsReader, traceURL: String?, logger: Logger
  ) throws -> CoordinatorServer {
    let token = try TokenFile.own(dataFolder: dataFolder)
    guard let identities = coordinator.settings.identities else { preconditionFailure("a server needs identities") }
    // Sessions last longer than a process, because the key does.
    let pages =
      addresses.https == nil || console == .off
      ? nil
      : Console(
        .credentials, isReadOnly: console == .readOnly, principal: "console", traceURL: traceURL,
        secret: try SecretFile.own(dataFolder + "/console.key").secret)
    let serve: CoordinatorServer.API = { router, calls in
      HTTPAPI.serve(on: router, calls)
      pages?.add(to: router, calls)
    }
    return try CoordinatorServer(
      coordinator: coordinator, identities: identities, addresses: addresses, token: token,
      ownCertificate: try ownCertificate.map(OwnCertificate.init), metrics: metrics,
      api: serve,
      dataFolder: URL(fileURLWithPath: dataFolder).path, logger: logger
    ) { bound in
      let others = [
        bound.operators.map { "\($0) (operators)" }, bound.http.map { "\($0) (HTTP)" },
        bound.https.map { "\($0) (HTTPS)" },
      ].compactMap { $0 }
      StandardError.say(
        "baton: the coordinator listens on \(bound.workers) (gRPC)" + others.map { " and \($0)" }.joined()
          + ", its data is in \(dataFolder)")
    }
  }
}

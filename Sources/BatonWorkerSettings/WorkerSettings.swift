import BatonBase
import BatonHost
import BatonIdentity
import BatonModel
import BatonProcess
package import BatonSettings
package import BatonTransfers
import BatonWire
package import BatonWorker

/// A worker's settings from its flags, its environment and its worker.yaml, in this order of precedence. This type is
/// the one place that knows every key.
package struct WorkerSettings: Sendable {
  package var configuration: WorkerConfiguration
  package var settings: Settings
  /// `nil` if the host has no transfers.
  package var transfers: TransferSettings?

  /// The values of command-line flags; `nil` for a flag that was not given.
  package struct Flags: Sendable {
    package var coordinator: String?
    package var name: String?
    package var data: String?
    package var slots: Int?
    package var tokenFile: String?
    /// The path of a worker.yaml.
    package var config: String?

    package init() {}
  }

  package static let keys =
    ["coordinator", "data", "http", "https", "logLevel", "metricsTokenFile", "name", "tokenFile"]
    + hostKeys

  /// The keys that also apply to a worker within another process (`baton run` and `baton up`).
  static let hostKeys =
    [
      "accepts", "allow.commands", "allow.directories", "allow.network", "allow.principals", "allow.root",
      "allow.secrets", "allow.users", "cpuLimit", "dailyAllowance", "hours", "ownerSocket", "permittedIdentifiers",
      "sandbox.require", "secrets.folder", "slots",
      "tracing.batchInterval", "tracing.slowFactor", "tracing.slowMinimum",
    ] + conditionKeys + transferKeys

  /// Reads the keys about this host into the configuration of a worker within another process.
  /// - Parameter file: the path of a worker.yaml. Keys about the coordinator are allowed in it and have no effect.
  /// - Returns: the settings of the host's transfers; `nil` if it has none.
  /// - Throws: `SettingsError` with everything that is wrong, and where.
  @discardableResult
  package static func read(
    file: String?, environment: [String: String], into configuration: inout WorkerConfiguration
  ) async throws -> TransferSettings? {
    let settings = try await Settings(file: file, environment: environment, keys: file == nil ? hostKeys : keys)
    read(settings, environment: environment, into: &configuration)
    let transfers = transfers(settings, configuration)
    try settings.finish()
    return transfers
  }

  /// Reads the settings of a worker.
  ///
  /// - Parameters:
  ///   - hostName: the worker's name, unless flags or settings name another.
  ///   - cores: the number of slots, unless flags or settings say otherwise.
  ///   - more: reads further settings that only the caller knows, and notes what is wrong with them.
  /// - Throws: `SettingsError` with everything that is wrong, and where; `HostPortError` if the coordinator's address
  ///   in the flags is wrong, and is only one.
  package init(
    _ flags: Flags, environment: [String: String], hostName: String, cores: Int,
    reading more: (Settings) -> Void = { _ in }
  ) async throws {
    let settings = try await Settings(
      file: flags.config ?? environment["BATON_CONFIG"], environment: environment, keys: Self.keys)
    self.settings = settings
    let state = UserFolders.state { environment[$0] }
    // A host that has joined a fleet has the name that its invitation gave to it.
    let joined =
      (flags.data ?? settings.text("data")) == nil
      ? state.flatMap { HostIdentity.onlyName(below: "\($0)/worker") } : nil
    let said = flags.name ?? settings.text("name")
    var name = said ?? joined ?? hostName
    if let mistake = Self.mistake(inName: name) {
      guard flags.name == nil else { throw SettingsError(mistake) }
      settings.note("name", mistake)
    }
    let data = flags.data ?? settings.text("data") ?? state.map { "\($0)/worker/\(name)" }
    if data == nil { settings.note("data", UserFolders.noState) }
    let identity: HostIdentity?
    do { identity = try data.flatMap { try HostIdentity.read(dataFolder: $0) } } catch {
      throw SettingsError("\(error)")
    }
    if let host = identity?.host.rawValue {
      guard said == nil || said == host else {
        throw SettingsError(
          "this worker has joined its fleet as \(host), and not as \(name): leave the name out, or give --data another "
            + "folder")
      }
      name = host
    }
    configuration = WorkerConfiguration(
      coordinator: flags.coordinator ?? settings.textOrList("coordinator") ?? identity?.coordinator ?? "127.0.0.1:7420",
      name: name,
      dataFolder: data ?? "", slots: cores)
    do {
      _ = try CoordinatorAddresses(parsing: configuration.coordinator)
    } catch {
      if let text = flags.coordinator { throw text.contains(",") ? SettingsError("--coordinator: \(error)") : error }
      settings.note("coordinator", "\(error)")
    }
    configuration.tokenFile = flags.tokenFile ?? settings.text("tokenFile")
    configuration.metricsTokenFile = settings.text("metricsTokenFile")
    Self.read(settings, environment: environment, into: &configuration)
    transfers = Self.transfers(settings, configuration)
    more(settings)
    try settings.finish()
    if let slots = flags.slots {
      guard Self.slots.contains(slots) else { throw SettingsError("--slots must be from 1 to 100000, not \(slots)") }
      configuration.slots = slots
    }
  }

  private static func read(
    _ settings: Settings, environment: [String: String], into configuration: inout WorkerConfiguration
  ) {
    if let slots = settings.number("slots", in: slots) { configuration.slots = slots }
    configuration.accepts = kinds(settings)
    configuration.permittedIdentifiers = patterns(settings)
    configuration.dailyAllowance = settings.duration("dailyAllowance")
    if let allowance = configuration.dailyAllowance, !(.seconds(1) ... .seconds(86_400)).contains(allowance) {
      settings.note("dailyAllowance", "must be from 1s to 24h")
    }
    configuration.conditions = conditions(settings)
    configuration.hours = hours(settings)
    configuration.cpuLimit = cpuLimit(settings)
    configuration.ownerSocket = settings.text("ownerSocket")
    read(settings, environment: environment, into: &configuration.sandbox)
    configuration.batchSampling = batchSampling(settings)
  }

  private static func batchSampling(_ settings: Settings) -> BatchSampling {
    var sampling = BatchSampling()
    sampling.interval = settings.number("tracing.batchInterval", in: 0...1_000_000_000) ?? sampling.interval
    sampling.slowFactor = settings.number("tracing.slowFactor", in: 1...1_000_000) ?? sampling.slowFactor
    sampling.slowMinimum = settings.duration("tracing.slowMinimum") ?? sampling.slowMinimum
    return sampling
  }

  private static func mistake(inName name: String) -> String? {
    guard !HostName(name).isWellFormed else { return nil }
    return "'\(name.escapedOnOneLine)' cannot be a host's name: it has \(HostName.rule)"
  }

  private static let slots = 1...100_000

  private static func kinds(_ settings: Settings) -> Set<JobKind> {
    guard let names = settings.list("accepts") else { return Set(JobKind.allCases) }
    return Set(
      names.compactMap { name in
        let kind = JobKind(rawValue: name)
        if kind == nil { settings.note("accepts", "'\(name)' is not a kind: refresh, processing or continued") }
        return kind
      })
  }

  private static func patterns(_ settings: Settings) -> [IdentifierPattern] {
    (settings.list("permittedIdentifiers") ?? []).compactMap { text in
      let pattern = IdentifierPattern(text)
      if pattern == nil {
        settings.note("permittedIdentifiers", "'\(text)' is not an identifier, nor one followed by '.*'")
      }
      return pattern
    }
  }

  private static func hours(_ settings: Settings) -> LendingHours {
    guard let texts = settings.list("hours") else { return .always }
    do {
      return try LendingHours(parsing: texts)
    } catch {
      settings.note("hours", "\(error)")
      return .always
    }
  }

  private static func cpuLimit(_ settings: Settings) -> CPUQuota? {
    guard let text = settings.text("cpuLimit") else { return nil }
    let quota = CPUQuota(parsing: text)
    if quota == nil { settings.note("cpuLimit", "must be \(CPUQuota.rule), not '\(text)'") }
    return quota
  }
}

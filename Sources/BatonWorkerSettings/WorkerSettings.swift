import BatonModel
package import BatonSettings
import BatonWire
package import BatonWorker

/// A worker's settings as its flags, its environment and its worker.yaml say: the one place that knows every key.
package struct WorkerSettings: Sendable {
  package var configuration: WorkerConfiguration
  package var settings: Settings

  /// What flags say; nil leaves it to the environment and the file.
  package struct Flags: Sendable {
    package var coordinator: String?
    package var name: String?
    package var data: String?
    package var slots: Int?
    package var tokenFile: String?
    /// A worker.yaml.
    package var config: String?

    package init() {}
  }

  package static let keys = ["coordinator", "data", "http", "logLevel", "name", "tokenFile"] + hostKeys

  /// Those that a worker within another process has, too.
  static let hostKeys =
    [
      "accepts", "cpuLimit", "dailyAllowance", "hours", "ownerSocket", "permittedIdentifiers", "slots",
      "tracing.batchInterval", "tracing.slowFactor", "tracing.slowMinimum",
    ] + conditionKeys

  /// What the owner of this host says of it, for a worker within another process.
  /// - Parameter file: a worker.yaml; keys about the coordinator are taken and have no effect.
  /// - Throws: `SettingsError` that says what is wrong, and where.
  package static func read(
    file: String?, environment: [String: String], into configuration: inout WorkerConfiguration
  ) async throws {
    try read(
      await Settings(file: file, environment: environment, keys: file == nil ? hostKeys : keys), into: &configuration)
  }

  /// - Parameters:
  ///   - defaultData: the data folder of a worker of that name, unless something else is said.
  ///   - cores: how many slots there are, unless something else is said.
  /// - Throws: `SettingsError` that says what is wrong, and where.
  package init(
    _ flags: Flags, environment: [String: String], hostName: String, cores: Int,
    defaultData: (_ name: String) -> String
  ) async throws {
    let settings = try await Settings(
      file: flags.config ?? environment["BATON_CONFIG"], environment: environment, keys: Self.keys)
    self.settings = settings
    let name = try Self.name(flags.name ?? settings.text("name") ?? hostName)
    configuration = WorkerConfiguration(
      coordinator: flags.coordinator ?? settings.text("coordinator") ?? "127.0.0.1:7420", name: name,
      dataFolder: flags.data ?? settings.text("data") ?? defaultData(name),
      slots: cores)
    _ = try HostPort(parsing: configuration.coordinator)
    configuration.tokenFile = flags.tokenFile ?? settings.text("tokenFile")
    try Self.read(settings, into: &configuration)
    if let slots = flags.slots {
      guard Self.slots.contains(slots) else { throw SettingsError("--slots must be from 1 to 100000, not \(slots)") }
      configuration.slots = slots
    }
  }

  private static func read(_ settings: Settings, into configuration: inout WorkerConfiguration) throws {
    if let slots = try settings.number("slots", in: slots) { configuration.slots = slots }
    configuration.accepts = try kinds(settings)
    configuration.permittedIdentifiers = try patterns(settings)
    configuration.dailyAllowance = try settings.duration("dailyAllowance")
    if let allowance = configuration.dailyAllowance, !(.seconds(1) ... .seconds(86_400)).contains(allowance) {
      throw settings.mistake("dailyAllowance", "must be from 1s to 24h")
    }
    configuration.conditions = try conditions(settings)
    configuration.hours = try hours(settings)
    configuration.cpuLimit = try cpuLimit(settings)
    configuration.ownerSocket = settings.text("ownerSocket")
    configuration.batchSampling = try batchSampling(settings)
  }

  private static func batchSampling(_ settings: Settings) throws -> BatchSampling {
    var sampling = BatchSampling()
    sampling.interval = try settings.number("tracing.batchInterval", in: 0...1_000_000_000) ?? sampling.interval
    sampling.slowFactor = try settings.number("tracing.slowFactor", in: 1...1_000_000) ?? sampling.slowFactor
    sampling.slowMinimum = try settings.duration("tracing.slowMinimum") ?? sampling.slowMinimum
    return sampling
  }

  private static func name(_ name: String) throws -> String {
    guard !name.isEmpty, name.utf8.count <= 255, !name.contains(where: { $0.isWhitespace || $0 == "/" }) else {
      throw SettingsError("'\(name)' cannot be a host's name: no spaces, no slash, at most 255 bytes")
    }
    return name
  }

  private static let slots = 1...100_000

  private static func kinds(_ settings: Settings) throws -> Set<JobKind> {
    guard let names = settings.list("accepts") else { return Set(JobKind.allCases) }
    return Set(
      try names.map { name in
        guard let kind = JobKind(rawValue: name) else {
          throw settings.mistake("accepts", "'\(name)' is not a kind: refresh, processing or continued")
        }
        return kind
      })
  }

  private static func patterns(_ settings: Settings) throws -> [IdentifierPattern] {
    try (settings.list("permittedIdentifiers") ?? []).map { text in
      guard let pattern = IdentifierPattern(text) else {
        throw settings.mistake("permittedIdentifiers", "'\(text)' is not an identifier, nor one followed by '.*'")
      }
      return pattern
    }
  }

  private static func hours(_ settings: Settings) throws -> LendingHours {
    guard let texts = settings.list("hours") else { return .always }
    do {
      return try LendingHours(parsing: texts)
    } catch {
      throw settings.mistake("hours", "\(error)")
    }
  }

  private static func cpuLimit(_ settings: Settings) throws -> CPUQuota? {
    guard let text = settings.text("cpuLimit") else { return nil }
    guard let quota = CPUQuota(parsing: text) else {
      throw settings.mistake("cpuLimit", "must be \(CPUQuota.form), not '\(text)'")
    }
    return quota
  }
}

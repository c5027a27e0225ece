package import BatonModel
package import BatonProcess

/// How UPS devices are asked: the key `ups` of worker.yaml, and times that cannot be set there.
public struct UPSSettings: Hashable, Sendable {
  /// Which UPS devices are asked.
  public enum Watched: Hashable, Sendable {
    /// Each UPS that the `upsd` of this host lists.
    case auto
    /// None.
    case none
    /// These devices, such as `rack@10.0.0.5:3493`.
    case named([String])
  }

  /// Which UPS devices are asked. Key `ups`: `auto`, `none`, or a list of names.
  public var watched: Watched
  /// The `upsd` that is asked for its list: a host, or a host and a port.
  package var server: String
  /// How long a list stays valid until it is asked for again.
  package var listInterval: Duration
  /// How long one run of `upsc` may take.
  package var patience: Duration

  package init(
    watched: Watched = .auto, server: String = "localhost", listInterval: Duration = .seconds(60),
    patience: Duration = .seconds(2)
  ) {
    self.watched = watched
    self.server = server
    self.listInterval = listInterval
    self.patience = patience
  }

  /// Asks the UPS devices that the `upsd` of this host lists.
  public init() { self.init(watched: .auto) }

  /// Asks the UPS devices that `watched` says.
  public init(_ watched: Watched) { self.init(watched: watched, server: "localhost") }
}

/// Asks Network UPS Tools, with its client `upsc`, whether a UPS that feeds this host runs on its battery.
///
/// A reading runs one `upsc` per UPS, all at the same time. It takes at most `UPSSettings.patience`, or twice as long
/// if the list is renewed first.
package struct UPSProbe: Sendable {
  package static let source = "nut"

  private let settings: UPSSettings
  private let command: SystemCommand
  private var listed: [String] = []
  private var listedAt: Instant?
  private var seen: Set<String> = []

  package init(_ settings: UPSSettings = UPSSettings(), command: SystemCommand = .system) {
    self.settings = settings
    self.command = command
    // A UPS that the owner named counts as seen.
    if case .named(let names) = settings.watched { seen = Set(names) }
  }

  /// Asks each UPS. Returns `nil` if there is no UPS: the settings name none, or this host has no `upsc` or no `upsd`
  /// with a list. A UPS that is listed, named or was seen, and does not answer, gives an unknown reading with the
  /// reason; it does not count as absent.
  package mutating func read(at now: Instant) async -> PowerReadings? {
    let names = await watched(at: now)
    let answers = await ask(names)
    var readings: [PowerReadings] = []
    for name in names {
      guard let answer = answers[name] else { continue }
      if case .output = answer { seen.insert(name) }
      if let reading = Self.reading(of: name, answer, wasSeen: seen.contains(name)) { readings.append(reading) }
    }
    return UPSStatus.combine(readings)
  }

  private mutating func watched(at now: Instant) async -> [String] {
    switch settings.watched {
    case .none: return []
    case .named(let names): return names
    case .auto: break
    }
    if let listedAt, now - listedAt < settings.listInterval { return listed }
    listedAt = now
    if case .output(let text) = await command.run(["upsc", "-l", settings.server], settings.patience) {
      listed = text.split(whereSeparator: \.isNewline).map { "\($0.trimmed)@\(settings.server)" }
      seen.formUnion(listed)
    }
    return listed
  }

  private func ask(_ names: [String]) async -> [String: SystemCommand.Answer] {
    await withTaskGroup(of: (String, SystemCommand.Answer).self) { [command, settings] group in
      for name in names { group.addTask { (name, await command.run(["upsc", name], settings.patience)) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  private static func reading(of name: String, _ answer: SystemCommand.Answer, wasSeen: Bool) -> PowerReadings? {
    switch answer {
    case .output(let text): UPSStatus(text).readings(of: name)
    case .missing: wasSeen ? .unknown("\(name): upsc can no longer be found") : nil
    case .failed(let why): .unknown("\(name): \(UPSStatus.words(of: why))")
    }
  }
}

extension PowerReadings {
  /// The readings of a UPS whose state is not known.
  static func unknown(_ raw: String) -> Self {
    Self(
      power: Reading(nil, source: UPSProbe.source, raw: raw), battery: Reading(nil, source: UPSProbe.source, raw: raw))
  }
}

extension Substring {
  /// This text without white space at its ends.
  var trimmed: Substring {
    let isBlank: (Character) -> Bool = \.isWhitespace
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return ""
    }
    return self[first...last]
  }
}

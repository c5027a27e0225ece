import BatonModel
import BatonSettings

extension CoordinatorSetup {
  /// The namespaces of the fleet. What is wrong is noted with its place.
  static func namespaces(_ file: Settings) -> Namespaces {
    var seen: Set<String> = []
    let fields = [
      "prefix", "owner", "weight", "quotas.pending", "quotas.running", "quotas.slots", "quotas.gpus",
      "quotas.dailyAllowance",
    ]
    let records = file.records("namespaces", fields: fields)
    if records.count > Namespaces.limit {
      file.note("namespaces", "has \(records.count) elements; at most \(Namespaces.limit) are accepted")
    }
    let namespaces = records.compactMap { record -> Namespace? in
      guard let prefix = prefix(record, file) else { return nil }
      guard seen.insert(prefix).inserted else {
        file.note("namespaces", record, "prefix", "'\(prefix)' is in the list twice")
        return nil
      }
      return Namespace(
        prefix, owner: owner(record, file),
        weight: file.number("namespaces", record, "weight", in: Namespace.weights) ?? 1, quotas: quotas(record, file))
    }
    return Namespaces(namespaces, useHalfLife: halfLife(file))
  }

  private static func prefix(_ record: SettingsRecord, _ file: Settings) -> String? {
    guard let text = record["prefix"] else {
      file.note("namespaces", record, "prefix", "needs 'prefix', such as com.example.team")
      return nil
    }
    if text.hasSuffix(".*") {
      file.note("namespaces", record, "prefix", "'\(text)' must be written without '.*': \(text.dropLast(2))")
    } else if JobIdentifier(text) == nil {
      file.note(
        "namespaces", record, "prefix", "'\(text)' is not the beginning of identifiers, such as com.example.team")
    } else {
      return text
    }
    return nil
  }

  private static func owner(_ record: SettingsRecord, _ file: Settings) -> PrincipalPattern? {
    guard let text = record["owner"] else { return nil }
    let owner = PrincipalPattern(text)
    if owner == nil {
      file.note(
        "namespaces", record, "owner",
        "'owner' must be the name of a principal of at most \(PrincipalPattern.maximumBytes) bytes, or a pattern such as ci-*"
      )
    }
    return owner
  }

  private static func quotas(_ record: SettingsRecord, _ file: Settings) -> Namespace.Quotas {
    func number(_ field: String, _ range: ClosedRange<Int>) -> Int? {
      file.number("namespaces", record, "quotas.\(field)", in: range)
    }
    var quotas = Namespace.Quotas()
    quotas.pending = number("pending", 0...100_000_000)
    quotas.running = number("running", 0...1_000_000)
    quotas.slots = number("slots", 0...10_000_000)
    quotas.gpus = number("gpus", 0...1_000_000)
    quotas.dailyAllowance = file.duration("namespaces", record, "quotas.dailyAllowance")
    return quotas
  }

  private static func halfLife(_ file: Settings) -> Duration {
    let usual = Namespaces().useHalfLife
    guard let halfLife = file.duration("limits.useHalfLife") else { return usual }
    if Namespaces.halfLives.contains(halfLife) { return halfLife }
    file.note("limits.useHalfLife", "must be from 1m to 30d")
    return usual
  }
}

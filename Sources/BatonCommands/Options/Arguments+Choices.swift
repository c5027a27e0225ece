import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonTelemetry
import BatonWire

/// Arguments that must be one of a few words.
extension Arguments {
  static func word<Word: RawRepresentable & CaseIterable>(_ text: String) throws -> Word where Word.RawValue == String {
    try one(of: Word.allCases.map { ($0.rawValue, $0) }, text)
  }

  static func thermal(_ text: String) throws -> ThermalState {
    try one(of: ThermalState.allCases.map { ($0.name, $0) }, text)
  }

  static func truth(_ text: String) throws -> Bool { try one(of: [("true", true), ("false", false)], text) }

  static func percent(_ text: String) throws -> Int {
    if let percent = Int(text), (0...100).contains(percent) { return percent }
    throw ValidationError("It must be a whole number from 0 to 100.")
  }

  static func pokePriority(_ text: String) throws -> PokePriority {
    try one(of: PokePriority.allCases.map { (String($0.rawValue), $0) }, text)
  }

  static let pokePriorities = PokePriority.allCases.map { String($0.rawValue) }

  static func submissionID(_ text: String) throws -> String {
    let most = WireLimits.submissionID.most
    guard (1...most).contains(text.utf8.count) else {
      throw ValidationError("It must have 1 to \(most) bytes, and has \(text.utf8.count).")
    }
    guard text.unicodeScalars.allSatisfy(\.isPrintable) else {
      throw ValidationError("It may have no control characters.")
    }
    return text
  }

  /// Every reason that a launch may be asked to stop for, except that it was simulated.
  static let simulatedReasons = ExpiryReason.Kind.allCases.filter { $0 != .simulated }.map(\.rawValue)

  static func simulatedReason(_ text: String) throws -> ExpiryReason.Kind {
    if simulatedReasons.contains(text), let reason = ExpiryReason.Kind(rawValue: text) { return reason }
    throw ValidationError(
      Values.nearest(to: text, among: simulatedReasons).map { "There is no such reason, did you mean '\($0)'?" }
        ?? "It must be one of \(simulatedReasons.joined(separator: ", ")).")
  }

  private static func one<Value>(of choices: [(word: String, value: Value)], _ text: String) throws -> Value {
    if let choice = choices.first(where: { $0.word == text }) { return choice.value }
    throw ValidationError("It must be one of \(choices.map(\.word).joined(separator: ", ")).")
  }
}

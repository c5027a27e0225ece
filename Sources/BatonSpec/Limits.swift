/// The bounds of a specification (design, section 2). They keep a hostile file from costing more than a look at it.
package enum Limits {
  /// Largest source, in bytes: 10 MiB.
  package static let sourceBytes = 10 << 20
  /// Most nodes of one document, each use of an alias counted as the nodes it stands for.
  package static let nodesPerDocument = 10_000
  /// Deepest nesting of one document, aliases included.
  package static let depth = 64
  /// Most text of one document (keys and values, aliases included), in bytes of UTF-8: 64 KiB.
  package static let textBytesPerDocument = 64 << 10
  /// Largest definition as it is stored and sent, in bytes of JSON: 64 KiB.
  package static let definitionBytes = 64 << 10
  /// Errors told per source, and warnings; reading stops at so many errors.
  package static let problemsPerSource = 1_000
  /// Longest duration, 10 years of 365 days, in seconds: longer ones are typing errors, and sums stay far from overflow.
  package static let longestDurationInSeconds: Int64 = 10 * 365 * 86_400
  /// Most items of a range. At 4,100 commits a second (FULL, measured) a thousand million batches of one item take
  /// about three days of nothing but commits; a longer range is a typing error, and its progress still fits 32 bits.
  package static let rangeItems = 1_000_000_000
  /// What an expiry may take; the default follows the kind (contract, row 16).
  static let closingWindow = Duration.seconds(1)...Duration.seconds(600)
  /// Contract, row 32. A day without progress is long enough for anybody.
  static let stallAfter = Duration.seconds(1)...Duration.seconds(86_400)
  /// Of a day (contract, row 17).
  static let dailyAllowance = Duration.seconds(1)...Duration.seconds(86_400)
  /// Contract, row 41. What comes less than weekly needs no poke.
  static let pokeSpacing = Duration.zero...Duration.seconds(7 * 86_400)
  static let batchSize = 1...100_000
  static let slots = 1...1_024
  static let gpus = 1...1_024
  static let retries = 0...1_000
  static let maxRunning = 1...100_000
  /// The coordinator's own default for all identifiers together is the upper end (contract, row 6).
  static let pending = 1...2_000_000
  /// Longest title or subtitle, in Unicode scalars.
  static let titleLength = 200
}

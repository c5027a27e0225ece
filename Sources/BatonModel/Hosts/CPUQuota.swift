/// The processor time that the owner of a host lends, in per cent of one core. As in systemd's `CPUQuota`, `150%` is
/// one and a half cores.
public struct CPUQuota: Hashable, Sendable {
  /// In per cent of one core, 1 to 100,000.
  public let percent: Int

  /// - Parameter percent: in per cent of one core; the result is `nil` unless it is 1 to 100,000.
  public init?(percent: Int) {
    guard Self.range.contains(percent) else { return nil }
    self.percent = percent
  }

  /// - Parameter text: the setting, such as `50%` or `150%`: one to six digits and `%`.
  /// - Returns: `nil` if the text has another form, or if the number is out of range.
  package init?(parsing text: String) {
    let digits = text.utf8.dropLast()
    guard text.hasSuffix("%"), (1...6).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let percent = Int(text.dropLast())
    else { return nil }
    self.init(percent: percent)
  }

  private static let range = 1...100_000

  /// What a correct setting looks like, for error messages.
  package static let rule = "per cent of one core, such as 50% or 150%, up to 100000%"
}

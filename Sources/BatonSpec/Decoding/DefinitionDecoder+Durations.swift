import BatonModel

/// The keys that replace a duration that Baton otherwise chooses; `Documentation/reference/limits.md` lists the
/// defaults.
extension DefinitionDecoder {
  mutating func readDurations(_ fields: Fields, into definition: inout Definition) {
    definition.closingWindow = duration(fields["closingWindow"], in: Definition.Limits.closingWindow)
    definition.stallAfter = duration(fields["stallAfter"], in: Definition.Limits.stallAfter)
    definition.dailyAllowance = duration(fields["dailyAllowance"], in: Definition.Limits.dailyAllowance)
    definition.retention = duration(fields["retention"], in: Definition.Limits.retention)
    definition.pokeSpacing = duration(fields["pokeSpacing"], in: Definition.Limits.pokeSpacing)
  }

  mutating func duration(_ field: Field?, in range: ClosedRange<Duration>) -> Duration? {
    guard let field, let duration = parsed(field, DurationText.examples, DurationText.parse) else { return nil }
    if range.contains(duration) { return duration }
    let bounds = "\(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
    return refused(field, "a duration from \(bounds)")
  }

  /// Checks `work.terminateBefore`, which must not be longer than the closing window, whether the file sets the window
  /// or the kind decides it.
  /// - Parameter kind: `nil` if the kind could not be read; then the closing window may be unknown, and nothing is
  ///   checked against it.
  mutating func checkLead(of definition: Definition, _ kind: JobKind?, _ fields: Fields) {
    guard let lead = definition.work?.terminateBefore, let entry = entry("terminateBefore", of: fields["work"]) else {
      return
    }
    if definition.work?.onExpiry == .terminate {
      report.warning(
        "'work.terminateBefore' changes nothing: with 'onExpiry: terminate' SIGTERM comes at once; remove one of them",
        at: entry.keyPosition)
    }
    // A closing window that could not be read has been reported already.
    guard let kind, fields["closingWindow"] == nil || definition.closingWindow != nil else { return }
    let window = definition.closingWindow ?? kind.closingWindow
    let origin = definition.closingWindow == nil ? " of kind \(kind.rawValue)" : ""
    if lead == window, definition.work?.onExpiry != .terminate {
      report.warning(
        "'work.terminateBefore' is as long as the closing window\(origin), \(DurationText.text(window)): SIGTERM comes at "
          + "once, and the running batch has no time to end; shorten it, or set a longer 'closingWindow'",
        at: entry.value.position)
    }
    guard lead > window else { return }
    report.error(
      "'work.terminateBefore' must be at most the closing window\(origin), \(DurationText.text(window)), "
        + "not \(entry.value.summary); shorten it, or set a longer 'closingWindow'", at: entry.value.position)
  }

  /// The entry of this key in `work`, as the file has it; `nil` if the key is absent.
  func entry(_ key: String, of work: Field?) -> Node.Entry? {
    guard case .mapping(let entries)? = work?.value.content else { return nil }
    return entries.first { $0.key == key }
  }
}

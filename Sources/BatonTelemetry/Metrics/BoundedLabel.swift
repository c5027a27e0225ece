/// The values of one metric label, with a limit on how many values have series of their own. The first `limit` values
/// have them; all later values share the value `other`.
package struct BoundedLabel: Hashable, Sendable {
  private let limit: Int
  private var known: Set<String> = []

  package init(limit: Int) { self.limit = max(0, limit) }

  /// Returns the label value to use for `text`: `text` itself, or `other` if the limit has been reached. The value for
  /// one text never changes. `isNew` is true the first time that `text` itself is returned.
  package mutating func value(_ text: String) -> (value: String, isNew: Bool) {
    if known.contains(text) { return (text, false) }
    guard known.count < limit else { return (Names.Label.other, false) }
    known.insert(text)
    return (text, true)
  }
}

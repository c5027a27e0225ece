/// Values of one label, of which only so many get series of their own: who comes first. The others share one.
package struct BoundedLabel: Hashable, Sendable {
  private let limit: Int
  private var known: Set<String> = []

  package init(limit: Int) { self.limit = max(0, limit) }

  /// `text`, or `other` if there are enough already: the same for the same text, from the first time on. The second is
  /// true that first time.
  package mutating func value(_ text: String) -> (value: String, isNew: Bool) {
    if known.contains(text) { return (text, false) }
    guard known.count < limit else { return (Names.Label.other, false) }
    known.insert(text)
    return (text, true)
  }
}

import BatonModel
package import BatonStore

extension JSONValue {
  package init(_ answer: PruneAnswer, isRehearsal: Bool) {
    self = [
      "dryRun": .bool(isRehearsal), "requests": JSONValue(answer.count),
      "states": .object(
        RequestState.allCases.filter(\.isEnded).map {
          .init(key: $0.rawValue, value: JSONValue(answer.counts[$0] ?? 0))
        }), "hasMore": .bool(answer.hasMore),
    ]
  }
}

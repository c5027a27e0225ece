package import BatonCoordinator
package import BatonModel
import BatonStore

extension Int {
  /// This position in the queue, in words.
  package var queueText: String {
    switch self {
    case 0: "first in its queue"
    case 1: "1 request goes before it in its queue"
    case (Verbs.countLimit + 1)...: "more than \(Verbs.countLimit) requests go before it in its queue"
    default: "\(self) requests go before it in its queue"
    }
  }
}

extension Explanation.Order {
  /// The order among definitions in words: recent use, and the classes that go before this one.
  package func text(at now: Timestamp) -> String {
    let when = lastUsedAt.map { $0.relative(to: now) }.map { $0 == "now" ? "just now" : $0 }
    let use =
      hasRecentUse
      ? "recent use: a person submitted or looked at a job of its definition \(when ?? "within a day"), so it goes before "
        + "definitions of this priority without recent use"
      : "no recent use\(when.map { " (last \($0))" } ?? ""): definitions of this priority of which a person submitted or "
        + "looked at a job within a day go first"
    return classesAhead == 0
      ? use
      : use + "; \(counted(classesAhead, "class", plural: "classes")) with ready requests "
        + "\(classesAhead == 1 ? "goes" : "go") before it"
  }
}

extension Explanation.NamespaceStanding {
  /// The namespace, its use, and the namespaces that go before it.
  package var text: String {
    let share = useOfAll > 0 ? ", \(Int((use / useOfAll * 100).rounded())) % of all use" : ""
    let hours = Int((use / 360).rounded())
    let own =
      (prefix.isEmpty ? "it belongs to no namespace (weight \(weight))" : "namespace \(prefix) (weight \(weight))")
      + ": used \(hours / 10).\(hours % 10) slot-hours\(share)"
    if ahead.isEmpty { return own + "; no namespace that waits with this priority goes before it" }
    let names = ahead.map { $0.isEmpty ? "what belongs to no namespace" : $0 }.joined(separator: ", ")
    return own + "; served less for their weight, so before it: \(names)"
  }
}

package import BatonCoordinator
package import BatonModel
import BatonStore

extension Explanation.Line {
  /// Which source reports the obstacle, word for word, and since when; `nil` if it comes from no condition of a host.
  package func sourceText(at now: Timestamp) -> String? {
    guard let source else { return nil }
    let age =
      (self.age.map { ", for \($0.inWords)" } ?? "") + (reportedAt.map { ", \($0.relative(to: now))" } ?? "")
    let raw = self.raw.flatMap { $0.isEmpty ? nil : $0 }
    switch source {
    case "assumed": return "assumed, because no probe of the host reports it" + (raw.map { " (\($0))" } ?? "")
    case ConditionOverrides.source:
      return "simulated" + age + (raw.map { " (actual: \($0))" } ?? "")
    default: return "reported by \(source)" + (raw.map { " (\($0))" } ?? "") + age
    }
  }

  /// When the obstacle ends by itself; `nil` if that is not known.
  package func endingText(at now: Timestamp) -> String? {
    guard let clearsAt, clearsAt != .distantFuture else { return nil }
    return "clears at \(clearsAt.clock(on: now)) (\(clearsAt.relative(to: now)))"
  }
}

extension Explanation {
  /// A text of this explanation with `IDENTIFIER` replaced by the identifier of the request, and `HOST` by the name of
  /// the host, if there is one.
  package func named(_ text: String, _ host: HostName?) -> String {
    let named = text.replacing("IDENTIFIER", with: record.identifier.rawValue)
    return host.map { named.replacing("HOST", with: $0.rawValue) } ?? named
  }
}

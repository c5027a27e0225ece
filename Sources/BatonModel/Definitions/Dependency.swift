/// A job that has to end before a request of a definition starts, if both are members of one flow: an entry of `after`.
package struct Dependency: Hashable, Sendable, Codable {
  package var identifier: JobReference
  package var on: End

  /// The ends of a job that let those after it start.
  package enum End: String, Hashable, Sendable, Codable, CaseIterable {
    case success, failure, any
  }

  package init(_ identifier: JobReference, on: End = .success) { (self.identifier, self.on) = (identifier, on) }
}

extension Dependency.End {
  /// Whether a request that has ended in this state has ended as asked. A cancelled request has neither succeeded nor
  /// failed.
  package func isMet(by state: RequestState) -> Bool {
    switch self {
    case .success: state == .succeeded
    case .failure: state == .failed
    case .any: state.isEnded
    }
  }
}

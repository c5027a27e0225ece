import BatonHTTP
package import BatonModel
import BatonProtobuf
import BatonWire
import SwiftProtobuf

/// What keeps the fleet from working, because an operator said so or because the store is broken.
package struct FleetStanding: Hashable, Sendable {
  package struct Eviction: Hashable, Sendable, Comparable {
    package var host: HostName
    package var pattern: IdentifierPattern

    package init(host: HostName, pattern: IdentifierPattern) { (self.host, self.pattern) = (host, pattern) }

    package static func < (one: Self, other: Self) -> Bool { (one.host, one.pattern) < (other.host, other.pattern) }
  }

  /// The most evictions that are told; a person reads no more of them.
  package static let mostEvictions = 1_000

  package var isPaused: Bool
  /// Why the coordinator that answers accepts nothing; nil if it does.
  package var problem: String?
  /// What is kept away from which host, by host and pattern, at most `mostEvictions`.
  package var evictions: [Eviction]

  package init(isPaused: Bool = false, problem: String? = nil, evictions: [Eviction] = []) {
    (self.isPaused, self.problem, self.evictions) = (isPaused, problem, evictions)
  }
}

extension Coordinator {
  package func standing() async throws -> FleetStanding {
    var evictions: [FleetStanding.Eviction] = []
    try await eachHost { _, state in
      evictions += state.host.evictions.map { FleetStanding.Eviction(host: state.host.name, pattern: $0) }
      // The hosts come in the order of their names, so what follows would be cut off anyway.
      return evictions.count < FleetStanding.mostEvictions
    }
    let problem: String? = if case .notReady(let reason) = await readiness() { reason } else { nil }
    return FleetStanding(
      isPaused: look { $0.dispatcher.isPaused }, problem: problem,
      evictions: Array(evictions.sorted().prefix(FleetStanding.mostEvictions)))
  }
}

extension FleetStanding {
  var proto: Baton_V1_StandingReply {
    .with {
      $0.isPaused = isPaused
      if let problem { $0.problem = problem }
      $0.evictions = evictions.map { eviction in
        .with { ($0.host, $0.pattern) = (eviction.host.rawValue, eviction.pattern.rawValue) }
      }
    }
  }

  init(_ proto: Baton_V1_StandingReply) throws {
    self.init(
      isPaused: proto.isPaused, problem: proto.hasProblem ? proto.problem : nil,
      evictions: try proto.evictions.map { eviction in
        Eviction(host: HostName(eviction.host), pattern: try IdentifierPattern(wire: eviction.pattern))
      })
  }
}

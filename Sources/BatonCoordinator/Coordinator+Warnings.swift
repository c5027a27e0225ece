package import BatonModel
import BatonStore
import Synchronization

/// The warning for a definition, as it was found at one moment; nil if there is nothing to warn of.
struct KnownWarning: Sendable {
  var text: String?
  var at: Instant
}

/// What a submission is warned of: that no known host could run it at present.
extension Coordinator {
  /// For each identifier, why no host could run its definition at present; nil if some host could run it now or soon.
  package func warnings(for identifiers: [JobIdentifier]) -> [String?] {
    guard !identifiers.isEmpty else { return [] }
    let now = now().instant
    var found: [DefinitionID: String?] = [:]
    return identifiers.map { identifier in
      let (definition, hasHosts) = state.withLock {
        ($0.core.index.definition(for: identifier), !$0.core.dispatcher.hosts.isEmpty)
      }
      guard let definition else { return nil }
      let warning = found[definition.id] ?? warning(for: definition, at: now)
      found[definition.id] = .some(warning)
      return warning.map { hasHosts ? "\($0); 'baton explain \(identifier)' has all reasons" : $0 }
    }
  }

  /// The warning for a definition. It is the same for every request of the definition, so the caller asks for it once,
  /// however many requests are submitted.
  private func warning(for definition: StoredDefinition, at now: Instant) -> String? {
    let first = state.withLock { Self.firstLook(at: definition.definition, $0.core.dispatcher) }
    if let first { return first.text }
    if let known = knownWarnings.withLock({ $0[definition.id] }), now - known.at < Self.warningLifetime {
      return known.text
    }
    // It looks at every host, so it works on a copy, beside the dispatcher.
    let text = Self.wholeLook(at: definition.definition, snapshot().dispatcher)
    knownWarnings.withLock { known in
      if known.count >= Self.mostWarnings { known = known.filter { now - $0.value.at < Self.warningLifetime } }
      if known.count < Self.mostWarnings { known[definition.id] = KnownWarning(text: text, at: now) }
    }
    return text
  }

  /// For how long the warning of a large fleet is given to others.
  private static let warningLifetime = Duration.seconds(1)
  /// The most warnings that are kept.
  private static let mostWarnings = 1_000
  /// How many hosts are looked at for each submission.
  private static let hostsLookedAt = 64

  /// The answer, if a few hosts tell it; nil if all hosts have to be looked at. Usually the first host could run the
  /// definition.
  private static func firstLook(at definition: Definition, _ dispatcher: Dispatcher) -> KnownWarning? {
    let at = dispatcher.now.instant
    if dispatcher.hosts.isEmpty {
      return KnownWarning(text: "no worker has connected yet, so it waits: start one with 'baton-worker'", at: at)
    }
    let hosts = dispatcher.hosts.values.prefix(hostsLookedAt)
    if !hosts.allSatisfy({ isHopeless($0.obstacles(for: definition)) }) { return KnownWarning(text: nil, at: at) }
    return dispatcher.hosts.count > hostsLookedAt
      ? nil : KnownWarning(text: wholeLook(at: definition, dispatcher), at: at)
  }

  private static func isHopeless(_ obstacles: [Obstacle]) -> Bool {
    obstacles.contains { $0.isPermanent || $0 == .hostGone }
  }

  private static func wholeLook(at definition: Definition, _ dispatcher: Dispatcher) -> String? {
    var (nearest, first): ((host: HostName, obstacles: [Obstacle])?, HostName?)
    for state in dispatcher.hosts.values {
      let obstacles = state.obstacles(for: definition)
      guard isHopeless(obstacles) else { return nil }
      let name = state.host.name
      first = first.map { min($0, name) } ?? name
      guard !obstacles.contains(.hostGone) else { continue }
      let permanent = obstacles.filter(\.isPermanent)
      if nearest.map({ (permanent.count, name) < ($0.obstacles.count, $0.host) }) ?? true {
        nearest = (name, permanent)
      }
    }
    let fleet = dispatcher.fleetObstacles(for: definition)
    return "no known host could run it now" + (reason(fleet, nearest, first).map { " (\($0))" } ?? "")
  }

  /// The reason that a person can do something about: the GPUs that the whole fleet lacks; otherwise a permanent
  /// obstacle of a present host, namely the host with the fewest permanent obstacles; otherwise that the hosts are
  /// gone.
  private static func reason(
    _ fleet: [Obstacle], _ nearest: (host: HostName, obstacles: [Obstacle])?, _ first: HostName?
  ) -> String? {
    if let lack = fleet.first(where: { $0.kind == .noHostHasGPU }) { return lack.text }
    if let nearest, let obstacle = nearest.obstacles.first { return "\(nearest.host): \(obstacle.text)" }
    return first.map { "\($0): \(Obstacle.hostGone.text)" }
  }
}

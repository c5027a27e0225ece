import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Watches for requests of a run that cannot start on this machine. The run waits for conditions that can change, such
/// as the power, and a line says what it waits for. A request that this machine can never take would be waited for
/// without end: the run ends when only such requests are unfinished.
struct RunWaiting: Sendable {
  /// The time between two looks at the unfinished requests.
  static let interval = Duration.seconds(2)
  /// The most requests that one look asks about, because each is a query of the store. The next look goes on
  /// after them.
  static let atOnce = 100
  /// How many looks in a row must find a request impossible before it counts as impossible. One is not enough: a worker
  /// that has just started may not know its GPUs yet.
  private static let looks = 2

  let following: Following
  let display: ProgressDisplay

  /// Runs `body` until it is done, or until every unfinished request is one that this machine can never take; then
  /// `body` is cancelled.
  /// - Returns: the explanations of the requests that can never start here; empty if `body` was done.
  func run(
    _ api: any OperatorAPI, _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> [Explanation] {
    try await withThrowingTaskGroup(of: [Explanation].self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await body()
        return []
      }
      group.addTask { try await self.impossible(api) }
      return try await group.next() ?? []
    }
  }

  /// Returns when every unfinished request is one that this machine can never take.
  private func impossible(_ api: any OperatorAPI) async throws -> [Explanation] {
    let sleep = CommandEnvironment.current.sleep
    var (seen, next) = ([RequestName: Standing](), 0)
    while true {
      try await sleep(Self.interval)
      let names = following.unfinished
      for offset in 0..<min(names.count, Self.atOnce) {
        let name = names[(next + offset) % names.count]
        let explanation: Explanation
        do {
          explanation = try await api.explain(name.identifier, number: name.number)
        } catch OperatorError.notFound {  // The request was replaced or cancelled in the meantime.
          continue
        }
        seen[name, default: Standing()].look(explanation)
        if let line = seen[name]?.news { display.note("\(name.identifier): \(line)") }
      }
      next = names.isEmpty ? 0 : (next + Self.atOnce) % names.count
      let standings = names.map { seen[$0] ?? Standing() }
      let impossible = standings.filter { $0.impossibleLooks >= Self.looks }.compactMap(\.explanation)
      if !impossible.isEmpty, standings.allSatisfy({ $0.hasEnded || $0.impossibleLooks >= Self.looks }) {
        return impossible
      }
    }
  }

  /// What the looks have found out about one request.
  private struct Standing {
    var explanation: Explanation?
    var impossibleLooks = 0
    /// What the request waits for, if that has changed since the look before; otherwise `nil`.
    var news: String?
    private var told = ""

    var hasEnded: Bool { explanation?.verdict == .ended }

    mutating func look(_ explanation: Explanation) {
      self.explanation = explanation
      impossibleLooks = explanation.isImpossibleHere ? impossibleLooks + 1 : 0
      let conditions = explanation.verdict == .waiting ? explanation.conditions : ""
      news = conditions.isEmpty || conditions == told ? nil : conditions
      told = conditions
    }
  }
}

extension Explanation {
  /// What the request waits for, such as
  /// `waits: it requires external power and the host runs on battery (plug the host in)`. It is empty if the request
  /// waits only for running launches or for a time, which its progress line says.
  fileprivate var conditions: String {
    let waits = lines.filter { line in
      switch Obstacle.Kind(rawValue: line.code) {
      case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .slotsInUse, .gpusInUse,
        .givingWay, .namespaceRunning, .namespaceSlots, .namespaceGPUs, .namespaceReserved:
        false
      case .noHostHasGPU: !lines.contains { $0.code == Obstacle.Kind.hostHasNoGPU.rawValue }
      default: true
      }
    }
    return waits.isEmpty ? "" : "waits: " + waits.map { "\($0.text) (\($0.remedy))" }.joined(separator: "; ").onOneLine
  }

  /// Whether the machine on which `baton run` runs can never take the request. A missing label counts too, because the
  /// worker of `baton run` has no labels.
  fileprivate var isImpossibleHere: Bool { verdict == .impossible || lines.contains(where: \.wantsLabel) }

  /// The error for a request that can never run here, such as
  /// `com.example.report, request 1 can never run on this machine: it needs 8 slots and the host has 4; …`.
  var impossibility: String {
    let permanent = lines.filter { $0.isPermanent || $0.wantsLabel }
    let reasons = permanent.map { "\($0.text); \($0.remedyInRun)" }.joined(separator: "; ")
    return "\(record.name) can never run on this machine: \(reasons)".onOneLine
  }
}

extension Explanation.Line {
  fileprivate var wantsLabel: Bool { code == Obstacle.Kind.missingLabel.rawValue }

  /// The remedy in the words of `baton run`, which has a flag for slots and none for labels.
  fileprivate var remedyInRun: String {
    switch Obstacle.Kind(rawValue: code) {
    case .tooFewSlots: "lower 'slots' of the job, or give --slots"
    case .missingLabel:
      "'baton run' has no labels: submit it to a fleet whose host has the label, or change 'requiredLabels'"
    default: remedy
    }
  }
}

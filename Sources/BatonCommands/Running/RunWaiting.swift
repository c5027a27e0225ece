import BatonCoordinator
import BatonModel
import BatonStore

/// What keeps requests of a run from starting on this machine. Conditions that can change, such as the power, are waited
/// for, with a line that says so; a request that this machine can never take would be waited for without end, so the
/// run ends when nothing else is unfinished.
struct RunWaiting: Sendable {
  /// Between two looks at what waits.
  static let interval = Duration.seconds(2)
  /// Requests that one look asks about, in turn: each is a question to the store.
  static let atOnce = 100
  /// Looks in a row that find a request impossible before it counts as such: a worker that has just started may not
  /// know its GPUs yet.
  private static let looks = 2

  let following: Following
  let display: ProgressDisplay

  /// Runs `body` until it is done, or until every unfinished request is one that this machine can never take.
  /// - Returns: what keeps those from ever starting here; empty if `body` was done.
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

  /// Returns when nothing is unfinished but requests that this machine can never take.
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
        } catch OperatorError.notFound {  // It was replaced or cancelled since.
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

  /// What is known of one request from the looks at it.
  private struct Standing {
    var explanation: Explanation?
    var impossibleLooks = 0
    /// Something to tell that was not told before.
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
  /// `waits: it requires external power and the host runs on battery (plug the host in)`; empty if it waits only for
  /// launches that run, or for a time, which its progress line says.
  fileprivate var conditions: String {
    let waits = lines.filter { line in
      switch Obstacle.Kind(rawValue: line.code) {
      case .notBefore, .rateLimited, .backingOff, .waitsForLiveRequest, .maxRunningReached, .slotsInUse, .gpusInUse,
        .givingWay:
        false
      case .noHostHasGPU: !lines.contains { $0.code == Obstacle.Kind.hostHasNoGPU.rawValue }
      default: true
      }
    }
    return waits.isEmpty ? "" : "waits: " + waits.map { "\($0.text) (\($0.remedy))" }.joined(separator: "; ").onOneLine
  }

  /// Whether the machine that `baton run` runs on can never take it. Its worker has no worker.yaml, and so no labels.
  fileprivate var isImpossibleHere: Bool { verdict == .impossible || lines.contains(where: \.wantsLabel) }

  /// `com.example.report, request 1: it needs 8 slots and the host has 4; lower 'slots' …`
  var impossibility: String {
    let permanent = lines.filter { $0.isPermanent || $0.wantsLabel }
    let reasons = permanent.map { "\($0.text); \($0.remedyInRun)" }.joined(separator: "; ")
    return "\(record.name) can never run on this machine: \(reasons)".onOneLine
  }
}

extension Explanation.Line {
  fileprivate var wantsLabel: Bool { code == Obstacle.Kind.missingLabel.rawValue }

  /// `baton run` has a flag for its slots, and none for labels.
  fileprivate var remedyInRun: String {
    switch Obstacle.Kind(rawValue: code) {
    case .tooFewSlots: "lower 'slots' of the job, or give --slots"
    case .missingLabel:
      "'baton run' has no labels: submit it to a fleet whose host has the label, or change 'requiredLabels'"
    default: remedy
    }
  }
}
